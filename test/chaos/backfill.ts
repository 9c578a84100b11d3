/**
 * A backfill of a hundred thousand ids, as a person runs it: `billsync backfill --wait` against a real Temporal server,
 * worker, warehouse and service, its worker killed -9 on the way; prints rate, memory and size of the histories.
 */

import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Client } from '@temporalio/client';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { freePort } from '../support/processes/free-port.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { withTemporalBeside } from '../support/temporal.ts';
import { aWarehouse, queryFile, runOnFile, settingsFor } from '../warehouse/support.ts';

export const summary =
  'a backfill of 100,000 ids, 95 % loaded and unchanged, its worker killed: rate, memory, histories (backfill [ids] [kills])';

/** Limits at which the server warns (ADR 14); it ends a run at five times as much. */
const MAX_EVENTS = 10_240;
const MAX_BYTES = 10 * 1024 * 1024;
const PRINT_EVERY = 5_000;

export async function main([ids = '100000', kills = '2']: readonly string[]): Promise<void> {
  const sandbox = await startSandbox();
  const product = await createProduct({
    service: { ...sandbox, storageHost: new URL(sandbox.storageUrl).host },
    settings: {
      ...{ TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`, BILLSYNC_PARTNER_ID: sandbox.partnerId },
      ...{ BILLSYNC_OVERDUE_AFTER: '1h', BILLSYNC_RECONCILE_EVERY: '24h', LOG_LEVEL: 'info' },
    },
  });
  try {
    const began = performance.now();
    const mix = await makeMix(sandbox, Number(ids));
    await mkdir(product.dataDir, { recursive: true, mode: 0o700 });
    await seedWarehouse(product.dataDir, { mix, partnerId: sandbox.partnerId });
    console.log(`${mix.length} invoices made in ${seconds(began)} s: ${JSON.stringify(tally(mix))}`);
    await product.start('temporal');
    await product.start('worker');
    const results = await backfill(product, mix, Number(kills));
    checkResults(mix, results);
    await withTemporalBeside(product.dataDir, checkHistories);
    console.log(costOf('worker since its last start', product.pid('worker')));
    console.log(costOf('Temporal', product.temporalPid() ?? undefined));
    await product.stop('worker');
    await checkWarehouse(product.dataDir, mix);
  } finally {
    await product.close();
    await sandbox.close();
  }
}

async function backfill(
  product: Product,
  mix: readonly MixedInvoice[],
  kills: number,
): Promise<ReadonlyMap<string, string>> {
  const file = join(product.dataDir, '..', 'ids.txt');
  await writeFile(file, mix.map(({ invoiceId }) => `${invoiceId}\n`).join(''));
  const began = performance.now();
  const command = product.spawn('backfill', '--ids', file, '--wait', '--ndjson', '--quiet');
  command.stderr.pipe(process.stderr);
  const exited = new Promise<number | null>((resolve) => command.once('close', resolve));
  const results = new Map<string, string>();
  const every = Math.min(PRINT_EVERY, Math.ceil(mix.length / 10));
  let killed = 0;
  let restarting = Promise.resolve();
  let peak = '';
  // The process may have ended when its last lines are read.
  const watch = setInterval(() => {
    if (command.exitCode === null) peak = peakMib(command.pid);
  }, 500);
  for await (const text of createInterface({ input: command.stdout })) {
    const { invoice_id: invoiceId, state } = JSON.parse(text) as { invoice_id: string; state: string };
    if (results.has(invoiceId)) throw new Error(`${invoiceId} was reported twice.`);
    results.set(invoiceId, state);
    if (results.size % every === 0) console.log(`${results.size}: ${rate(results.size, began)}`);
    if (results.size >= ((killed + 1) * mix.length) / (kills + 1) && killed < kills) {
      killed += 1;
      restarting = restarting.then(() => restart(product));
    }
  }
  const code = await exited;
  clearInterval(watch);
  await restarting;
  const all = `${results.size} ids: ${rate(results.size, began)}, the worker killed ${killed} times`;
  console.log(`${all}; the command ended with ${code}, ${peak} MiB at most`);
  // Drafts and unknown ids are neither loaded nor voided; a short list may have none.
  const expected = mix.every(({ kind }) => ['loaded', 'voided'].includes(KINDS[kind])) ? 0 : 1;
  if (code !== expected) throw new Error(`The command ended with ${code} instead of ${expected}.`);
  return results;
}

async function restart(product: Product): Promise<void> {
  console.log(`${costOf('worker', product.pid('worker'))}; kill -9`);
  await product.kill('worker');
  await product.start('worker');
}

function checkResults(mix: readonly MixedInvoice[], results: ReadonlyMap<string, string>): void {
  const wrong = mix.filter(({ invoiceId, kind }) => results.get(invoiceId) !== KINDS[kind]);
  if (wrong.length === 0 && results.size === mix.length) return;
  const few = wrong
    .slice(0, 5)
    .map(({ invoiceId, kind }) => `${kind} ${invoiceId}: ${results.get(invoiceId)}`);
  throw new Error(
    `${results.size} of ${mix.length} were reported, ${wrong.length} wrongly: ${few.join('; ')}`,
  );
}

async function checkWarehouse(dataDir: string, mix: readonly MixedInvoice[]): Promise<void> {
  const rows = await queryFile(
    join(dataDir, 'warehouse.duckdb'),
    `select i.invoice_id::varchar as id, i.state, l.billing_cost::varchar as cost, l.version
     from internal.invoice_state as i left join internal.loads as l on l.load_id = i.current_load_id`,
  );
  const byId = new Map(rows.map((row) => [String(row.id), row]));
  const wrong = mix.filter(({ invoiceId, kind, total }) => {
    const row = byId.get(invoiceId);
    if (kind === 'unknown') return row !== undefined;
    if (row?.state !== KINDS[kind]) return true;
    if (KINDS[kind] !== 'loaded') return false;
    return Number(row.cost) !== Number(total) || row.version !== (kind === 'changed' ? 2 : 1);
  });
  if (wrong.length > 0) throw new Error(`${wrong.length} are wrong: ${JSON.stringify(wrong.slice(0, 5))}`);
  console.log(`warehouse: ${rows.length} invoices, equal to the service's`);
}

/** @throws Error when a history is so large that the server warns */
async function checkHistories(client: Client): Promise<void> {
  const tooLarge: string[] = [];
  for (const type of ['backfill', 'backfillBatch', 'invoice']) {
    let [runs, events, bytes] = [0, 0, 0];
    for await (const run of client.workflow.list({ query: `WorkflowType = '${type}'` })) {
      runs += 1;
      events = Math.max(events, run.historyLength);
      bytes = Math.max(bytes, run.historySize ?? 0);
      if (run.historyLength > MAX_EVENTS || (run.historySize ?? 0) > MAX_BYTES) tooLarge.push(run.workflowId);
    }
    const size = `${events} events and ${(bytes / 1024).toFixed(0)} KiB`;
    console.log(`${type}: ${runs} runs, at most ${size} of history`);
  }
  if (tooLarge.length > 0) throw new Error(`Too large: ${tooLarge.slice(0, 5).join(', ')}`);
}

function tally(mix: readonly MixedInvoice[]): Partial<Record<Kind, number>> {
  const counts: Partial<Record<Kind, number>> = {};
  for (const { kind } of mix) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function rate(ids: number, began: number): string {
  return `${seconds(began)} s, ${((ids / (performance.now() - began)) * 1_000).toFixed(1)} a second`;
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(0);
}

function costOf(what: string, pid: ChildProcess['pid']): string {
  return `${what}: ${cpuSeconds(pid)} s of CPU, ${peakMib(pid)} MiB at most`;
}

function cpuSeconds(pid: ChildProcess['pid']): string {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / 100).toFixed(0);
}

function peakMib(pid: ChildProcess['pid']): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024).toFixed(0);
}

const KINDS = {
  unchanged: 'loaded',
  /** Finalized, without an event. */
  unannounced: 'loaded',
  /** Loaded, and the service has another file since. */
  changed: 'loaded',
  /** Loaded, then voided without an event. */
  lostVoid: 'voided',
  knownVoid: 'voided',
  draft: 'draft',
  unknown: 'unknown',
} as const;
type Kind = keyof typeof KINDS;

const SHARES: Readonly<Record<Exclude<Kind, 'unchanged'>, number>> = {
  ...{ unannounced: 10, changed: 1, lostVoid: 3, knownVoid: 10, draft: 2, unknown: 30 },
};

const IN_THE_LEDGER = new Set<Kind>(['unchanged', 'changed', 'lostVoid', 'knownVoid']);

interface MixedInvoice {
  readonly invoiceId: string;
  readonly kind: Kind;
  readonly total: string;
  readonly sha256: string;
}

async function makeMix(sandbox: Sandbox, count: number): Promise<readonly MixedInvoice[]> {
  const kinds = Object.entries(SHARES).flatMap(([kind, share]) => Array<Kind>(share).fill(kind as Kind));
  const ofAThousand = Array.from({ length: 1_000 }, (_, place): Kind => {
    // 389 and 1,000 are coprime, so each place occurs once.
    return kinds[(place * 389) % 1_000] ?? 'unchanged';
  });
  const mix: MixedInvoice[] = [];
  for (let made = 0; made < count; made += 1) {
    mix.push(await makeOne(sandbox, ofAThousand[made % 1_000] ?? 'unchanged'));
  }
  return mix;
}

async function makeOne(sandbox: Sandbox, kind: Kind): Promise<MixedInvoice> {
  if (kind === 'unknown') return { invoiceId: randomUUID(), kind, total: '', sha256: '' };
  const { invoiceId, totalAmount, file } = await sandbox.createInvoice({ shipments: 1 });
  if (kind !== 'draft') await sandbox.finalize(invoiceId);
  if (kind === 'lostVoid' || kind === 'knownVoid') sandbox.cancel(invoiceId);
  return { invoiceId, kind, total: totalAmount, sha256: file.sha256 };
}

/** Inserts the loaded invoices into a new warehouse without files, since loading each would take an hour. */
async function seedWarehouse(
  dataDir: string,
  { mix, partnerId }: { readonly mix: readonly MixedInvoice[]; readonly partnerId: string },
): Promise<void> {
  const made = await aWarehouse({ settings: settingsFor(dataDir) });
  await made.warehouse.close();
  await made.archive.close();
  const path = join(dataDir, 'seed.ndjson');
  const lines = mix.filter(({ kind }) => IN_THE_LEDGER.has(kind));
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  await runOnFile(join(dataDir, 'warehouse.duckdb'), ...seeding(path, partnerId));
  await rm(path);
}

function seeding(path: string, partnerId: string): readonly string[] {
  return [
    `create temp table seed as
       select *, row_number() over ()::integer as load_id, now()::timestamp - interval 5 minutes as instant,
         (total::decimal(18, 4) + if(kind = 'changed', 1, 0))::decimal(18, 4) as cost
       from read_json('${path}', columns = {invoiceId: 'uuid', kind: 'varchar', total: 'varchar', sha256: 'varchar'})`,
    `insert into internal.loads by name
       select load_id, invoiceId as invoice_id, 1 as version, if(kind = 'changed', repeat('0', 64), sha256) as file_sha256,
         300 as file_size_bytes, 'event' as file_source, file_sha256 as announced_sha256, 'Tenant' as tenant, 1 as shipments,
         cost as billing_cost, 'USD' as currency_code, 'USD' as currencies, true as ends_with_line_end, instant as loaded_at
       from seed`,
    `insert into internal.shipment_rows by name
       select load_id, 1 as row_number, 'Tenant' as tenant, instant::date as invoice_generation_date, instant::date as ship_date,
         'USD' as currency_code, cost as billing_cost, 'T' || load_id as tracking_number, 'ups' as carrier
       from seed`,
    `insert into internal.invoice_state by name
       select invoiceId as invoice_id, if(kind = 'knownVoid', 'voided', 'loaded') as state, instant as state_since,
         load_id as current_load_id, 'hash' as proof, '${partnerId}' as partner_id, 'tenant' as invoice_level,
         'USD' as currency_code, cost::varchar as stated_total, 1 as stated_shipments, instant as first_seen_at,
         instant as finalized_at, instant as loaded_at, if(kind = 'knownVoid', instant, null) as voided_at, 1 as versions,
         1 as last_version, instant as counts_since
       from seed`,
    `insert into internal.publication_log by name
       select 1 as sequence, max(instant) as published_at, count(*) as invoices, count(*) as loaded_invoices,
         count(*) as shipments, 0 as events, max(load_id) as last_load_id, max(load_id) as recorded_to
       from seed`,
  ];
}
