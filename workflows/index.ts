/** Every workflow under the name that Temporal knows it by; the bundle's entry. */

export { backfill } from './backfill.ts';
export { backfillBatch } from './backfill-batch.ts';
export { invoice } from './invoice.ts';
export { reconcile } from './reconcile.ts';
export { scheduledReport } from './scheduled-report.ts';
export { decideInvoice, importCsv, snapshot, verify } from './writer-requests.ts';
