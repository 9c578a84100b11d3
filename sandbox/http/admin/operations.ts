import { ACCOUNT } from './account.ts';
import { FAULTS } from './faults.ts';
import { INVOICES } from './invoices.ts';
import { SCHEDULES } from './schedules.ts';
import { DELIVERIES, WEBHOOKS } from './webhooks.ts';

export const OPERATIONS = [...ACCOUNT, ...INVOICES, ...WEBHOOKS, ...DELIVERIES, ...SCHEDULES, ...FAULTS];
