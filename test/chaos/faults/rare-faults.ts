/** Faults of records, of people's files and of what reaches Temporal: for the alerts that none of the thirty raises. */

import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientOptions } from '@temporalio/client';
import { openFolderArchive } from '../../../archive/folder-archive.ts';
import { ALERTS, type AlertName } from '../../../lib/alerts/alert-names.ts';
import { createDataConverter } from '../../../lib/temporal/codec.ts';
import type { TemporalConnection } from '../../../lib/temporal/connect.ts';
import { invoiceWorkflowId } from '../../../lib/wire/names.ts';
import { openQuarantine } from '../../../webhook/inbox/quarantine.ts';
import { reportScheduleId, scheduleId } from '../../../workflows/client/schedules.ts';
import { anArchivedEvent, anEvent as anEventWith } from '../../archive/an-event.ts';
import { aDelivery, basic, deliver } from '../../webhook/a-delivery.ts';
import { anEvent } from '../../workflows/invoice-builders.ts';
import { acknowledge, run } from './invoice-faults.ts';
import type { WatchedFault } from './play-fault.ts';
import { OPERATOR, type RareStage } from './rare-stage.ts';

export type RareFault = WatchedFault<RareStage>;

/** The count of open alerts itself; what else measures a fault is named where there is such a metric. */
export const OPEN = (alert: AlertName): string =>
  `billsync_alerts_open\\{alert="${alert}",severity="${ALERTS[alert].severity}",role="\\w+"\\} [1-9]`;

export const rare = (
  alert: AlertName,
  what: string,
  {
    metric = OPEN(alert),
    ...does
  }: Pick<RareFault, 'inject' | 'cure' | 'withinMs'> & { readonly metric?: string },
): RareFault => ({ ...{ name: alert, what, alert, metric }, ...does });

/** @returns once it counts */
export async function loaded(stage: RareStage, shipments = 5): Promise<string> {
  const { invoiceId } = await stage.sandbox.createInvoice({ shipments });
  await stage.sandbox.finalize(invoiceId);
  await untilLoaded(stage, invoiceId);
  return invoiceId;
}

/** @throws Error it is not within a minute */
export async function untilLoaded({ product }: RareStage, invoiceId: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { out } = await product.command('invoices', 'show', invoiceId, '--json');
    if (out.includes('"loaded"')) return;
    await sleep(500);
  }
  throw new Error(`Invoice ${invoiceId} is not loaded.`);
}

async function withTemporal<T>(stage: RareStage, work: (to: TemporalConnection) => Promise<T>): Promise<T> {
  const to = await stage.temporal();
  try {
    return await work(to);
  } finally {
    await to.close();
  }
}

/** The workflow of a draft, which waits. */
async function aDraft({ sandbox }: RareStage): Promise<{ invoiceId: string; workflowId: string }> {
  const { invoiceId } = await sandbox.createInvoice({ shipments: 2 });
  const workflowId = invoiceWorkflowId({ environment: 'test', partnerId: sandbox.partnerId, invoiceId });
  // It begins when it is overdue, after 3 s.
  await sleep(6_000);
  return { invoiceId, workflowId };
}

const COST_RULES = 'user/cost-rules.yaml';
const writeTo = ({ product }: RareStage, name: string, text: string): void =>
  writeFileSync(join(product.dataDir, name), text);
const removeFrom = ({ product }: RareStage, name: string): void =>
  rmSync(join(product.dataDir, name), { force: true });

/** Claims are looked at when a worker starts, and each hour. */
export async function restartWorker({ product }: RareStage): Promise<void> {
  const { findProcesses } = await import('../../../lib/processes.ts');
  for (const pid of findProcesses(['worker', product.dataDir])) process.kill(pid, 'SIGKILL');
}

/** As the runbook has it: not beside a worker. */
export async function rebuild(stage: RareStage): Promise<void> {
  await stage.product.stop('up');
  await run(stage, 'rebuild');
  await stage.product.start('up');
}

async function aClaim(stage: RareStage): Promise<void> {
  const invoiceId = await loaded(stage);
  const { out } = await stage.product.command('shipments', '--invoice', invoiceId, '--json');
  const tracking = /"tracking_number": "([^"]+)"/.exec(out)?.[1] ?? '';
  await run(stage, 'disputes', 'open', 'shipments', '--tracking', tracking, '--reason', 'never delivered');
}

async function claimIds({ product }: RareStage, state: 'open' | 'sent'): Promise<readonly string[]> {
  const { out } = await product.command('disputes', 'list', '--state', state, '--json');
  return [...new Set([...out.matchAll(/"(D-\d+)"/g)].map(([, id = '']) => id))];
}

const windows = (days: number): string =>
  `warn_days: 14\nanswer_days: 30\nwindows:\n  - { carrier: '*', days: ${days}, from: invoice-date }\n`;

async function triggerReport(stage: RareStage): Promise<void> {
  await withTemporal(stage, ({ client }) =>
    client.schedule.getHandle(reportScheduleId('test', 'carriers')).trigger(),
  );
}

async function scheduleReport(stage: RareStage, folder: string): Promise<void> {
  await loaded(stage);
  await mkdir(folder, { recursive: true });
  await run(stage, 'report', 'carriers', '--schedule', 'daily', '--format', 'csv', '--output', folder);
}

let lostInvoice = '';

export const RARE_FAULTS: readonly RareFault[] = [
  rare('delivery-contradicts-itself', 'a delivery with two totals', {
    async inject({ product, sandbox }) {
      const { body } = aDelivery({ metadata: { partnerId: sandbox.partnerId } });
      const twice = body.replace('"invoiceTotalAmount":', '"invoiceTotalAmount":1,"invoiceTotalAmount":');
      const headers = { authorization: basic(product.user, product.password) };
      await deliver(product.webhookUrl, twice, { headers });
      return null;
    },
    cure: acknowledge,
  }),
  rare('dashboard/wrong-credentials', 'three wrong passwords for the pages of operators', {
    async inject(stage) {
      for (let times = 0; times < 3; times += 1) await ofOperators(stage, 'ann:wrong');
      return null;
    },
    async cure(stage) {
      await ofOperators(stage, OPERATOR);
    },
  }),
  rare('gaps', 'both deliveries of an invoice are lost; the next numbers come', {
    metric: 'billsync_expected_invoices_missing\\{kind="number",role="worker"\\} [1-9]',
    async inject(stage) {
      const { sandbox } = stage;
      const { tenantId: tenant } = sandbox.tenants()[0] ?? { tenantId: '' };
      for (let count = 0; count < 8; count += 1) {
        if (count === 4) sandbox.faults.add({ name: 'drop' });
        const { invoiceId } = await sandbox.createInvoice({ tenant, shipments: 1 });
        await sandbox.finalize(invoiceId);
        if (count === 4) lostInvoice = invoiceId;
        await sleep(1_000);
        sandbox.faults.clear();
      }
      await sleep(5_000);
      await run(stage, 'reconcile', '--wait');
      return null;
    },
    async cure(stage) {
      await run(stage, 'backfill', lostInvoice, '--wait');
      // Gaps are looked for in what is published.
      await run(stage, 'snapshot');
      await run(stage, 'reconcile', '--wait');
    },
  }),
  rare('service/details', 'the details of invoices are forbidden', {
    metric: 'billsync_service_calls_total\\{endpoint="details",answer="403",role="worker"\\} [1-9]',
    async inject(stage) {
      stage.sandbox.faults.add({ name: 'forbidden', target: { endpoint: 'details' } });
      await stage.sandbox.createInvoice({ shipments: 1 });
      return null;
    },
    async cure(stage) {
      stage.sandbox.faults.clear();
      await run(stage, 'reconcile', '--wait');
    },
  }),
  rare('unknown-status', 'the details of an invoice name a status of their own', {
    async inject(stage) {
      const invoiceId = await loaded(stage);
      stage.lie((call, { status, body }) =>
        call.startsWith('GET') && call.includes(invoiceId) && status === 200
          ? { status, body: body.replace(/"(\w*[sS]tatus)":"\w+"/, '"$1":"settled"') }
          : null,
      );
      await run(stage, 'backfill', invoiceId, '--wait');
      return invoiceId;
    },
    async cure(stage, { invoiceId }) {
      stage.lie(null);
      await run(stage, 'backfill', invoiceId, '--wait');
    },
  }),
  rare('failure', 'the service does not answer about a loaded invoice, three times in seven minutes', {
    withinMs: 600_000,
    async inject(stage) {
      const invoiceId = await loaded(stage);
      stage.sandbox.faults.add({
        ...{ name: 'forbidden', target: { endpoint: ['details', 'regenerate'], invoiceId } },
      });
      await run(stage, 'backfill', invoiceId);
      return invoiceId;
    },
    async cure(stage, { invoiceId }) {
      stage.sandbox.faults.clear();
      await run(stage, 'backfill', invoiceId, '--wait');
    },
  }),
  rare('quarantine/old', 'a refused delivery that came two days ago', {
    metric: 'billsync_quarantine_depth\\{kind="delivery",role="worker"\\} [1-9]',
    // Checked once a minute.
    withinMs: 120_000,
    async inject(stage) {
      const at = new Date(Date.now() - 2 * 86_400_000).toISOString();
      const quarantine = await openQuarantine(join(stage.product.dataDir, 'inbox', 'quarantine'));
      const why = { code: 'not-json', reason: 'It is no JSON.', findings: [], findingCount: 0 };
      const of = { invoiceId: null, eventId: null, sha256: null };
      await quarantine.put({ kind: 'delivery', at, ...why, ...of }, Buffer.from('{'));
      return null;
    },
    async cure(stage) {
      const { out } = await stage.product.command('quarantine', 'list', '--json');
      const ids = [...out.matchAll(/"(d-[0-9a-f]{16})"/g)].map(([, id = '']) => id);
      await run(stage, 'quarantine', 'discard', ...ids, '--note', 'reported to the service', '--yes');
    },
  }),
  rare('set-aside', 'an archived event with an instant that no ledger has', {
    async inject(stage) {
      const archive = await openFolderArchive(join(stage.product.dataDir, 'archive'));
      const event = anEventWith({ eventId: randomUUID(), eventType: 'invoice_created' });
      const receivedAt = '0000-01-01T00:00:00Z';
      await archive.putEvent(anArchivedEvent({ eventId: event.eventId, event, receivedAt }));
      await archive.close();
      // It ends with 1: what is set aside is a difference, too.
      await stage.product.command('reconcile', '--wait');
      return null;
    },
    async cure(stage, alert) {
      const events = join(stage.product.dataDir, 'archive', 'events');
      const { out } = await stage.product.command('verify', '--json');
      const id = /event ([0-9a-f-]{36}), received 0000/.exec(out)?.[1] ?? '';
      const path = join(events, id.slice(0, 2), `${id}.json`);
      const text = readFileSync(path, 'utf8').replaceAll('0000-01-01T00:00:00Z', new Date().toISOString());
      writeFileSync(path, text);
      const journal = join(events, 'journal');
      writeFileSync(
        journal,
        readFileSync(journal, 'utf8').replace('0000-01-01T00:00:00Z', new Date().toISOString()),
      );
      await rebuild(stage);
      await acknowledge(stage, alert);
    },
  }),
  rare('cost-rules', 'a file of rules that cannot be read', {
    async inject(stage) {
      writeTo(stage, COST_RULES, 'rules:\n  - name: A B\n');
      await loaded(stage);
      return null;
    },
    async cure(stage) {
      writeTo(stage, COST_RULES, 'rules: []\n');
      await loaded(stage);
    },
  }),
  rare('cost-rule', 'a rule that each carrier meets', {
    async inject(stage) {
      writeTo(stage, COST_RULES, 'rules:\n  - name: any-carrier\n    report: carriers\n');
      await loaded(stage);
      return null;
    },
    async cure(stage, alert) {
      removeFrom(stage, COST_RULES);
      await acknowledge(stage, alert);
    },
  }),
  rare('claims-to-send', 'an open claim whose window ends today', {
    async inject(stage) {
      writeTo(stage, 'user/claim-windows.yaml', windows(1));
      await aClaim(stage);
      await restartWorker(stage);
      return null;
    },
    async cure(stage) {
      await run(stage, 'disputes', 'state', 'sent', ...(await claimIds(stage, 'open')));
      await restartWorker(stage);
    },
  }),
  rare('claims-unanswered', 'a claim that was sent 40 days ago', {
    async inject(stage) {
      writeTo(stage, 'user/claim-windows.yaml', windows(1));
      await aClaim(stage);
      await run(stage, 'disputes', 'state', 'sent', ...(await claimIds(stage, 'open')));
      const journal = join(stage.product.dataDir, 'user', 'disputes', 'journal.ndjson');
      const earlier = new Date(Date.now() - 40 * 86_400_000).toISOString();
      writeFileSync(journal, readFileSync(journal, 'utf8').replaceAll(/"at":"[^"]+"/g, `"at":"${earlier}"`));
      await restartWorker(stage);
      return null;
    },
    async cure(stage) {
      for (const id of await claimIds(stage, 'sent'))
        await run(stage, 'disputes', 'note', id, '--note', 'second request');
      await restartWorker(stage);
    },
  }),
  rare('report', 'a scheduled report is written', {
    async inject(stage) {
      await scheduleReport(stage, join(stage.product.logFolder, 'reports'));
      await triggerReport(stage);
      return null;
    },
    cure: acknowledge,
  }),
  rare('report-failed', 'a file in the place of the folder of a scheduled report', {
    async inject(stage) {
      const folder = join(stage.product.logFolder, 'reports');
      await scheduleReport(stage, folder);
      renameSync(folder, `${folder}.away`);
      writeFileSync(folder, '');
      await triggerReport(stage);
      return null;
    },
    async cure(stage) {
      rmSync(join(stage.product.logFolder, 'reports'));
    },
  }),
  rare('schedule', 'the schedule of the reconciliation is deleted', {
    async inject(stage) {
      await withTemporal(stage, ({ client }) => client.schedule.getHandle(scheduleId('test')).delete());
      return null;
    },
    async cure(stage) {
      await run(stage, 'schedule', 'apply');
    },
  }),
  rare('temporal/unencrypted', 'a client without the key signals a workflow in clear text', {
    inject: (stage) => signalBy(stage, {}),
    cure: acknowledge,
  }),
  rare('temporal/undecryptable', 'a workflow is signaled with another key', {
    inject: (stage) =>
      signalBy(stage, { dataConverter: createDataConverter([{ id: 'another', key: randomBytes(32) }]) }),
    cure: acknowledge,
  }),
  rare('temporal/foreign-event', 'an event of one invoice is sent to the workflow of another', {
    async inject(stage) {
      const { workflowId } = await aDraft(stage);
      await withTemporal(stage, async ({ client }) => {
        await client.workflow.getHandle(workflowId).signal('invoiceEvent', anEvent('invoice_voided'));
      });
      return null;
    },
    cure: acknowledge,
  }),
];

/** A client of these options voids an invoice. */
async function signalBy(stage: RareStage, options: Pick<ClientOptions, 'dataConverter'>): Promise<null> {
  const { invoiceId, workflowId } = await aDraft(stage);
  await withTemporal(stage, async ({ client, namespace }) => {
    const other = new Client({ connection: client.connection, namespace, ...options });
    const event = anEvent('invoice_voided', { invoiceId });
    await other.workflow.getHandle(workflowId).signal('invoiceEvent', event);
  });
  return null;
}

async function ofOperators({ product }: RareStage, user: string): Promise<void> {
  const authorization = `Basic ${Buffer.from(user).toString('base64')}`;
  await fetch(`${product.address('up', 'dashboard')}operator`, { headers: { authorization } });
}
