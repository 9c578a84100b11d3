/** Faults of the service as a whole and of the machine; each is cured before the next. */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProcesses } from '../../../lib/processes.ts';
import type { NewFault } from '../../../sandbox/faults/faults.ts';
import { aDelivery, basic, deliver } from '../../webhook/a-delivery.ts';
import { discard, run } from './invoice-faults.ts';
import type { Stage, WatchedFault } from './play-fault.ts';

const API = ['regenerate', 'details', 'export-csv'] as const;
const DOWN = (component: string) => `billsync_component_up\\{component="${component}",role="worker"\\} 0`;

/** An invoice whose URL is dead, so that the service is called at once. */
async function call({ sandbox }: Stage): Promise<void> {
  const { invoiceId } = await sandbox.createInvoice({ shipments: 2 });
  sandbox.faults.add({ name: 'expired-url', target: { invoiceId } });
  await sandbox.finalize(invoiceId);
}

const ofService = (
  name: string,
  what: string,
  watched: Pick<WatchedFault, 'alert' | 'metric'>,
  fault: NewFault,
): WatchedFault => ({
  ...{ name, what, ...watched },
  async inject(stage) {
    stage.sandbox.faults.add(fault);
    await call(stage);
    return null;
  },
  async cure(stage) {
    stage.sandbox.faults.clear();
    await call(stage);
  },
});

const failing = { alert: 'service/unwell', metric: DOWN('billing service') } as const;
const api = (name: string, what: string): WatchedFault =>
  ofService(name, what, failing, { name, target: { endpoint: API } });

const pidsOf = ({ product }: Stage, role: 'webhook' | 'worker') => findProcesses([role, product.dataDir]);
const signal = (pids: readonly number[], name: NodeJS.Signals): void => {
  for (const pid of pids) process.kill(pid, name);
};

function send({ product, sandbox }: Stage, over: Parameters<typeof aDelivery>[0], user = product.user) {
  const authorization = basic(user, product.password);
  const { body } = aDelivery({ ...over, metadata: { partnerId: sandbox.partnerId, ...over?.metadata } });
  return deliver(product.webhookUrl, body, { headers: { authorization } });
}

export const MACHINE_FAULTS: readonly WatchedFault[] = [
  api('unavailable', 'every call is answered 503'),
  api('server-error', 'every call is answered 500'),
  api('too-many-requests', 'every call is answered 429'),
  api('connection-reset', 'every connection is reset'),
  api('execute-then-drop', 'the work is done, the answer is lost'),
  api('hang', 'no answer ever comes'),
  ofService(
    'unauthorized',
    'every token is refused with 401',
    {
      alert: 'credentials',
      metric: 'billsync_service_calls_total\\{endpoint="regenerate",answer="401",role="worker"\\} [1-9]',
    },
    { name: 'unauthorized', target: { endpoint: API } },
  ),
  {
    ...{
      name: 'Temporal hangs',
      what: 'its server is stopped (SIGSTOP)',
      alert: 'temporal/away',
      metric: DOWN('temporal'),
    },
    async inject({ product }) {
      signal(findProcesses(product.temporalServer), 'SIGSTOP');
      return null;
    },
    async cure({ product }) {
      const { pid } = JSON.parse(readFileSync(join(product.dataDir, 'run', 'temporal.json'), 'utf8')) as {
        readonly pid: number;
      };
      process.kill(pid, 'SIGKILL');
    },
  },
  {
    ...{
      name: 'wrong password',
      what: 'deliveries with another password',
      alert: 'webhook/wrong-credentials',
    },
    metric: 'billsync_deliveries_total\\{status="unauthorized",role="webhook"\\} [1-9]',
    async inject(stage) {
      for (let times = 0; times < 3; times += 1) await send(stage, {}, 'unknown');
      return null;
    },
    async cure(stage) {
      await send(stage, {});
    },
  },
  {
    ...{ name: 'foreign partner', what: 'a delivery for another account', alert: 'quarantine' },
    metric: 'billsync_quarantined_total\\{code="foreign-partner",role="webhook"\\} [1-9]',
    async inject(stage) {
      await send(stage, { metadata: { partnerId: '99999999-9999-9999-9999-999999999999' } });
      return null;
    },
    cure: discard,
  },
  {
    ...{ name: 'unreadable body', what: 'a delivery that is no JSON', alert: 'quarantine' },
    metric: 'billsync_deliveries_total\\{status="rejected",role="webhook"\\} [1-9]',
    async inject({ product }) {
      const headers = { authorization: basic(product.user, product.password) };
      await deliver(product.webhookUrl, '{"metadata":', { headers });
      return null;
    },
    cure: discard,
  },
  {
    ...{ name: 'inbox unwritable', what: 'the folder of the inbox is away', alert: 'inbox/unwritable' },
    metric: 'billsync_deliveries_total\\{status="unavailable",role="webhook"\\} [1-9]',
    async inject(stage) {
      const pending = join(stage.product.dataDir, 'inbox', 'pending');
      renameSync(pending, `${pending}.away`);
      writeFileSync(pending, '');
      await send(stage, {});
      return null;
    },
    async cure(stage) {
      const pending = join(stage.product.dataDir, 'inbox', 'pending');
      await rm(pending);
      await rename(`${pending}.away`, pending);
      await send(stage, {});
    },
  },
  {
    ...{
      name: 'published file in the way',
      what: 'a folder in the place of the published file',
      alert: 'publication',
    },
    metric: 'billsync_publication_failures_total\\{role="worker"\\} [1-9]',
    async inject(stage) {
      const path = join(stage.product.dataDir, 'reports.duckdb');
      await rename(path, `${path}.away`);
      await mkdir(join(path, 'in-the-way'), { recursive: true });
      await call(stage);
      return null;
    },
    async cure(stage) {
      await rm(join(stage.product.dataDir, 'reports.duckdb'), { recursive: true });
    },
  },
  {
    ...{ name: 'worker killed', what: 'kill -9 of the worker', alert: 'process' },
    metric: 'billsync_process_restarts_total\\{process="worker",role="up"\\} [1-9]',
    async inject(stage) {
      signal(pidsOf(stage, 'worker'), 'SIGKILL');
      return null;
    },
    // `up` starts it again.
    cure: async () => undefined,
  },
  {
    ...{
      name: 'endpoint hangs',
      what: 'the process of the endpoint is stopped (SIGSTOP)',
      alert: 'endpoint/unanswered',
    },
    metric: DOWN('endpoint'),
    async inject(stage) {
      signal(pidsOf(stage, 'webhook'), 'SIGSTOP');
      return null;
    },
    // `up` ends it and starts another.
    cure: async () => undefined,
  },
  {
    ...{ name: 'warehouse damaged', what: 'the file is garbled and the worker killed', alert: 'warehouse' },
    metric: 'billsync_process_restarts_total\\{process="worker",role="up"\\} [1-9]',
    async inject(stage) {
      signal(pidsOf(stage, 'worker'), 'SIGKILL');
      await rm(join(stage.product.dataDir, 'warehouse.duckdb.wal'), { force: true });
      writeFileSync(join(stage.product.dataDir, 'warehouse.duckdb'), Buffer.alloc(65_536, 7));
      return null;
    },
    // The worker makes it again from the archive.
    cure: async () => undefined,
  },
  {
    ...{
      name: 'archive lost its files',
      what: 'the archived files are moved away, then `verify`',
      alert: 'drift',
    },
    metric: 'billsync_alerts_open\\{alert="drift",severity="critical",role="worker"\\} 1',
    async inject({ product }) {
      const files = join(product.dataDir, 'archive', 'files');
      await rename(files, `${files}.away`);
      await mkdir(files);
      await product.command('verify');
      return null;
    },
    async cure(stage) {
      const files = join(stage.product.dataDir, 'archive', 'files');
      await rm(files, { recursive: true });
      await rename(`${files}.away`, files);
      await run(stage, 'verify');
    },
  },
];
