/** Requests to the single writer, from commands and from report schedules: one short workflow each, on its queue. */

import { proxyActivities } from '@temporalio/workflow';
import type {
  Decided,
  Decision,
  Imported,
  ImportRequest,
  Publication,
  Verification,
} from '../lib/wire/warehouse-requests.ts';
import type { ScheduledReport, WarehouseActivities, WrittenReport } from './activities.ts';

// For commands: a person waits, so a failure is reported after a few attempts.
const requests = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: '30 min',
  heartbeatTimeout: '1 min',
  retry: { initialInterval: '500 ms', maximumAttempts: 3 },
});
const { writeReport } = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: '15 min',
  scheduleToCloseTimeout: '1 h',
  retry: { initialInterval: '10 s', maximumInterval: '10 min' },
});

/** `billsync snapshot`. Returns after the rename, with everything committed before in it. */
export async function snapshot(): Promise<Publication> {
  return requests.publishSnapshot();
}

/** `billsync verify` */
export async function verify(request: { readonly full: boolean }): Promise<Verification> {
  return requests.verifyWarehouse(request);
}

/** `billsync import`, while a worker runs. Returns after the publication. */
export async function importCsv(request: ImportRequest): Promise<Imported> {
  const imported = await requests.importCsv(request);
  if (imported.outcome.outcome === 'loaded') await requests.publishSnapshot();
  return imported;
}

/** `billsync invoices restore` and `use-version`, while a worker runs. Returns after the publication. */
export async function decideInvoice(decision: Decision): Promise<Decided> {
  const decided = await requests.decideInvoice(decision);
  if (decided.outcome === 'done' && !decision.isDryRun) await requests.publishSnapshot();
  return decided;
}

/** Started by a report's schedule; retried for an hour. */
export async function scheduledReport(scheduled: ScheduledReport): Promise<WrittenReport> {
  return writeReport(scheduled);
}
