export { backfill } from './backfill.ts';
export { backfillBatch } from './backfill-batch.ts';
export { invoice } from './invoice.ts';
export { reconcile } from './reconcile.ts';
export { decideInvoice, importCsv, scheduledReport, snapshot, verify } from './writer-requests.ts';
