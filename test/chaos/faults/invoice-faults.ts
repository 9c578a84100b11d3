/** Faults of one invoice each, by the sandbox; they are independent and played together. */

import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from '../../../lib/errors.ts';
import type { NewFault } from '../../../sandbox/faults/faults.ts';
import type { RaisedAlert, Stage, WatchedFault } from './play-fault.ts';

const LOADED = 'billsync_loads_total\\{outcome="loaded",role="worker"\\} [1-9]';
const REJECTED = 'billsync_loads_total\\{outcome="rejected",role="worker"\\} [1-9]';
const QUARANTINED = (code: string) => `billsync_quarantined_total\\{code="${code}",role="webhook"\\} [1-9]`;
const CALLS = (endpoint: string, answer: string) =>
  `billsync_service_calls_total\\{endpoint="${endpoint}",answer="${answer}",role="worker"\\} [1-9]`;
const FILES = ['storage', 'export-csv'] as const;

/** An invoice that is finalized with these faults of its own. */
async function struck({ sandbox }: Stage, faults: readonly NewFault[]): Promise<string> {
  const { invoiceId } = await sandbox.createInvoice({ shipments: 5 });
  for (const fault of faults) sandbox.faults.add({ ...fault, target: { ...fault.target, invoiceId } });
  await sandbox.finalize(invoiceId);
  return invoiceId;
}

type Watched = Pick<WatchedFault, 'alert' | 'metric' | 'cure'>;

const fault = (
  name: string,
  what: string,
  watched: Watched,
  ...faults: readonly NewFault[]
): WatchedFault => ({ name, what, ...watched, inject: (stage) => struck(stage, faults) });

async function corrected({ sandbox }: Stage, invoiceId: string): Promise<void> {
  for (const { faultId, target } of sandbox.faults.list())
    if (target.invoiceId === invoiceId) sandbox.faults.clear(faultId);
  await sandbox.repair(invoiceId);
}

/** Runs a command of the runbook, again when Temporal does not answer on a busy machine. @throws Error when it fails */
export async function run({ product }: Stage, ...args: readonly string[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { code, err } = await product.command(...args);
    if (code === 0) return;
    if (code !== EXIT.unreachable || tries === 5) throw new Error(`billsync ${args.join(' ')}: ${err}`);
  }
}

async function retry(stage: Stage, { invoiceId }: RaisedAlert): Promise<void> {
  await corrected(stage, invoiceId);
  await run(stage, 'invoices', 'retry', invoiceId);
}

export async function acknowledge(stage: Stage, { key }: RaisedAlert): Promise<void> {
  await run(stage, 'alerts', 'acknowledge', key, '--note', 'informed the persons concerned');
}

export async function discard(stage: Stage, alert: RaisedAlert): Promise<void> {
  const { out } = await stage.product.command('quarantine', 'list', '--json');
  const refused = JSON.parse(out) as readonly { readonly quarantine_id: string; readonly code: string }[];
  const ids = refused
    .filter(({ code }) => alert.key === `quarantine/${code}`)
    .map((each) => each.quarantine_id);
  await run(stage, 'quarantine', 'discard', ...ids, '--note', 'reported to the service', '--yes');
  await acknowledge(stage, alert);
}

const retried = (metric: string) => ({ alert: 'retries', metric, cure: retry }) as const;
const attention = (metric: string) => ({ alert: 'attention', metric, cure: retry }) as const;
const announcement = {
  alert: 'announcement',
  metric: CALLS('export-csv', '200'),
  cure: acknowledge,
} as const;
const totals = { alert: 'totals', metric: LOADED, cure: acknowledge } as const;
const refused = (code: string) =>
  ({ alert: 'quarantine', metric: QUARANTINED(code), cure: discard }) as const;

export const INVOICE_FAULTS: readonly WatchedFault[] = [
  fault('wrong-hash', 'the event and each new URL announce another hash', announcement, {
    name: 'wrong-hash',
  }),
  fault('wrong-size', 'the event and each new URL announce another size', announcement, {
    name: 'wrong-size',
  }),
  fault('corrupt-body', 'every file comes with one wrong byte', attention(CALLS('storage', '200')), {
    ...{ name: 'corrupt-body', target: { endpoint: FILES } },
  }),
  fault('html-body', 'an HTML page comes instead of the file', retried(CALLS('storage', '200')), {
    ...{ name: 'html-body', target: { endpoint: FILES } },
  }),
  fault('redirect', 'storage and export redirect', attention(CALLS('storage', '302')), {
    ...{ name: 'redirect', target: { endpoint: FILES } },
  }),
  fault('malformed-csv', 'the file breaks the rules, its hash is right', attention(REJECTED), {
    name: 'malformed-csv',
    params: { kind: 'random' },
  }),
  fault('wrong-totals', 'total and count of the event differ from the rows', totals, {
    name: 'wrong-totals',
  }),
  fault('other-currency', 'the event names another currency', totals, { name: 'other-currency' }),
  fault(
    'forbidden',
    'the URL is dead, a new one and the export are forbidden',
    retried(CALLS('regenerate', '403')),
    { name: 'expired-url' },
    {
      ...{ name: 'forbidden', target: { endpoint: ['regenerate', 'export-csv'] } },
    },
  ),
  fault(
    'bad-request',
    'the URL is dead, a new one and the export are refused with 400',
    retried(CALLS('regenerate', '400')),
    { name: 'expired-url' },
    {
      ...{ name: 'bad-request', target: { endpoint: ['regenerate', 'export-csv'] } },
    },
  ),
  fault('unknown-event-type', 'a further event of an unknown type', refused('unknown-event-type'), {
    name: 'unknown-event-type',
  }),
  fault('schema-v2', 'the event has another schema version', refused('unknown-schema-version'), {
    name: 'schema-v2',
  }),
  {
    name: 'void after load',
    what: 'an invoice that counts is voided',
    alert: 'voided-after-load',
    metric: 'billsync_invoices\\{state="voided",role="worker"\\} [1-9]',
    async inject(stage) {
      const invoiceId = await struck(stage, []);
      for (let tries = 0; tries < 100; tries += 1) {
        const { out } = await stage.product.command('invoices', 'show', invoiceId, '--json');
        if (out.includes('"loaded"')) break;
        await sleep(500);
      }
      stage.sandbox.cancel(invoiceId);
      return invoiceId;
    },
    cure: acknowledge,
  },
];
