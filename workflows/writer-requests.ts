/** What commands ask of the running worker, because only the one writer may do it; each a small workflow on its queue. */

import { proxyActivities } from '@temporalio/workflow';
import type { WarehouseActivities } from '../activities/create-activities.ts';
import type { Imported, ImportRequest } from '../warehouse/import/import-files.ts';
import type { Decided, Decision, Publication, Verification } from '../warehouse/warehouse.ts';

const once = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: '30 min',
  heartbeatTimeout: '1 min',
  // Somebody waits at a terminal: a failure is told after a few tries and not hidden by many.
  retry: { initialInterval: '500 ms', maximumAttempts: 3 },
});
const { publishSnapshot } = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: '10 min',
  retry: { initialInterval: '500 ms', maximumAttempts: 3 },
});

/** `billsync snapshot`: answers after the rename, with everything committed before in it. */
export async function snapshot(): Promise<Publication> {
  return publishSnapshot();
}

/** `billsync verify` */
export async function verify({ full }: { readonly full: boolean }): Promise<Verification> {
  return once.verifyWarehouse({ full });
}

/** `billsync import`, while a worker runs: the file's path is on the worker's machine. Answers once it is published. */
export async function importCsv(request: ImportRequest): Promise<Imported> {
  const imported = await once.importCsv(request);
  if (imported.outcome.outcome === 'loaded') await publishSnapshot();
  return imported;
}

/** `billsync invoices restore` and `use-version`, while a worker runs. Answers once it is published. */
export async function decideInvoice(decision: Decision): Promise<Decided> {
  const decided = await once.decideInvoice(decision);
  if (decided.outcome === 'done' && !decision.isDryRun) await publishSnapshot();
  return decided;
}
