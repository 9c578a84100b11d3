/**
 * What the admin API can do, as one table: method, path, words, shape of the body, and the work. The routes and
 * the OpenAPI document are both made from it, so neither can say what the other does not.
 */
import { ACCOUNT_OPERATIONS } from './operations/account-operations.ts';
import { DELIVERY_OPERATIONS } from './operations/delivery-operations.ts';
import { FAULT_OPERATIONS } from './operations/fault-operations.ts';
import { INVOICE_OPERATIONS } from './operations/invoice-operations.ts';
import type { Operation } from './operations/operation.ts';
import { REGISTRATION_OPERATIONS } from './operations/registration-operations.ts';
import { SCHEDULE_OPERATIONS } from './operations/schedule-operations.ts';

export const OPERATIONS: readonly Operation[] = [
  ...ACCOUNT_OPERATIONS,
  ...INVOICE_OPERATIONS,
  ...REGISTRATION_OPERATIONS,
  ...SCHEDULE_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...FAULT_OPERATIONS,
];
