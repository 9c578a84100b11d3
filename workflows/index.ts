/** Every workflow under the name that Temporal knows it by; the bundle's entry. */

export { backfill } from './backfill.js';
export { backfillBatch } from './backfill-batch.js';
export { invoice } from './invoice.js';
export { reconcile } from './reconcile.js';
export { scheduledReport } from './scheduled-report.js';
export { decideInvoice, importCsv, snapshot, verify } from './writer-requests.js';
