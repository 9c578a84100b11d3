/** Records and loads of every kind for a warehouse, and the queries whose results are compared. */

import { runReport } from '../../reports/report-session.ts';
import { aCsv, anEvent, archiveCsv, INVOICE, loadCsv, READER_VIEWS, type TestWarehouse } from './support.ts';

const SECOND = '22222222-2222-4222-8222-222222222222';
const FOURTH = '44444444-4444-4444-8444-444444444444';
export const THIRD = '33333333-3333-4333-8333-333333333333';

/** Versions, a void, attention, details, test events and duplicates. */
export async function playStory(t: TestWarehouse): Promise<void> {
  const event = anEvent('invoice_finalized');
  await t.archive.putEvent(event);
  await t.archive.putEvent(anEvent('invoice_created', { verdict: 'test' }));
  await t.archive.putFact({ kind: 'duplicate', at: '2026-03-01T00:00:00.700Z', eventId: event.eventId });
  await t.record([event]);
  const file = await archiveCsv(t, aCsv([{ 'Billing Cost': '5' }]));
  const { sha256, sizeBytes } = file;
  const from = 'https://storage.example/f.csv';
  await t.archive.putFact({
    ...{ kind: 'file', at: '2026-03-01T00:00:00.900Z', invoiceId: INVOICE, sha256, sizeBytes },
    ...{ source: 'event', from },
  });
  await loadCsv(t, aCsv([{ 'Billing Cost': '5' }]), { eventId: event.eventId, workflowRunId: 'run-1' });
  await loadCsv(t, aCsv([{ 'Billing Cost': '6' }, {}]), { source: 'regenerate' });
  const header = { tenantId: null, currencyCode: 'USD' };
  await t.warehouse.recordDetails({ invoiceId: SECOND, status: 'finalized', header });
  await t.warehouse.markNeedsAttention({ invoiceId: SECOND, code: 'not-exported', reason: 'why' });
  await loadCsv(t, aCsv([{}], SECOND), { invoiceId: SECOND, source: 'export', announcedSha256: null });
  await loadCsv(t, aCsv([{}], THIRD), { invoiceId: THIRD });
  await t.warehouse.voidInvoice(THIRD);
  await loadCsv(t, aCsv([{}], FOURTH), { invoiceId: FOURTH });
  const voided = anEvent('invoice_voided', { header: { invoiceId: FOURTH } });
  await t.record([voided]);
  const decided = { by: 'ada', reason: 'it is right', isDryRun: false };
  await t.warehouse.decide({ kind: 'restore', invoiceId: FOURTH, ...decided });
  await t.warehouse.recordFailure(FOURTH, { code: 'recheck-unanswered', reason: 'the details answer 500' });
  await loadCsv(t, aCsv([{ 'Billing Cost': '7' }], FOURTH), { invoiceId: FOURTH });
  await t.warehouse.decide({ kind: 'use-version', version: 1, invoiceId: FOURTH, ...decided });
  await t.warehouse.recordHash({ invoiceId: SECOND, sha256: 'f'.repeat(64), sizeBytes: 7 });
  const byHand = { source: 'file', announcedSha256: null } as const;
  await loadCsv(t, aCsv([{ 'Billing Cost': '8' }], SECOND), { invoiceId: SECOND, ...byHand });
}

/** As of now, and one as it was known while the first version counted. */
const REPORTS = [
  { name: 'tenants' },
  { name: 'summary' },
  { name: 'proof' },
  { name: 'rebills' },
  { name: 'zones', filters: { asKnownOn: '2026-03-01T00:00:03Z' } },
];

export async function everything(
  path: string,
  queryView: (sql: string) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const view of READER_VIEWS) {
    answers[view] = await queryView(`select * from ${view} order by all`);
    const types = `select to_json(list(typeof(columns(*)))) as types from ${view}`;
    answers[`${view}-types`] = await queryView(types);
  }
  for (const { name, filters = {} } of REPORTS) {
    const { rows, columns } = await runReport({ databasePath: path, name, filters });
    answers[`report ${name}`] = { rows, columns };
  }
  return answers;
}
