import { proxyActivities } from '@temporalio/workflow';
import type {
  Decided,
  Decision,
  Imported,
  ImportRequest,
  Publication,
  Verification,
} from '../lib/warehouse-requests.ts';
import type { ScheduledReport, WarehouseActivities, WrittenReport } from './activities.ts';

// A person waits for a request of a command, so a failure is reported after a few attempts.
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

export async function snapshot(): Promise<Publication> {
  return requests.publishSnapshot();
}

export async function verify(request: { readonly full: boolean }): Promise<Verification> {
  return requests.verifyWarehouse(request);
}

export async function importCsv(request: ImportRequest): Promise<Imported> {
  const imported = await requests.importCsv(request);
  if (imported.outcome.outcome === 'loaded') await requests.publishSnapshot();
  return imported;
}

export async function decideInvoice(decision: Decision): Promise<Decided> {
  const decided = await requests.decideInvoice(decision);
  if (decided.outcome === 'done' && !decision.isDryRun) await requests.publishSnapshot();
  return decided;
}

export async function scheduledReport(scheduled: ScheduledReport): Promise<WrittenReport> {
  return writeReport(scheduled);
}
