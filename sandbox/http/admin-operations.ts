/**
 * What the admin API can do, as one table: method, path, words, shape of the body, and the work. The routes and
 * the OpenAPI document are both made from it, so neither can say what the other does not.
 */
import { ACCOUNT_OPERATIONS } from './operations/account-operations.js';
import { DELIVERY_OPERATIONS } from './operations/delivery-operations.js';
import { FAULT_OPERATIONS } from './operations/fault-operations.js';
import { INVOICE_OPERATIONS } from './operations/invoice-operations.js';
import type { Operation } from './operations/operation.js';
import { REGISTRATION_OPERATIONS } from './operations/registration-operations.js';
import { SCHEDULE_OPERATIONS } from './operations/schedule-operations.js';

export const OPERATIONS: readonly Operation[] = [
  ...ACCOUNT_OPERATIONS,
  ...INVOICE_OPERATIONS,
  ...REGISTRATION_OPERATIONS,
  ...SCHEDULE_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...FAULT_OPERATIONS,
];
