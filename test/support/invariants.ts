/**
 * The nine invariants that hold after every kill and every fault, as one function. It reads what lies on disk and what
 * Temporal tells, shares no query with the product, and answers with what is broken instead of throwing at the first.
 *
 * I1 acknowledged events are kept and were acted on or still wait · I2 rows = rows of the file = ledger, sums exact ·
 * I3 one active load per invoice · I4 no voided invoice in any report · I5 the published file passes I2 to I4 by
 * itself · I6 no planted secret anywhere · I7 no workflow task in retries, no unfinished handlers · I8 no temporary
 * file older than ten minutes · I9 no secondary index.
 */

import { readFile, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { parse } from 'csv-parse/sync';
import { runReport } from '../../reports/report-session.ts';
import { findSecrets, listFiles } from './find-secrets.ts';
import { type Ask, addTo, askACopy, describeSum, differences, exact, type Sum } from './published-data.ts';

/**
 * To be called when nobody writes the warehouse: its file and its log of changes are copied and opened.
 *
 * @returns everything that is broken; empty when all nine hold
 */
export async function checkInvariants(options: InvariantOptions): Promise<readonly Violation[]> {
  const { dataDir } = options;
  return [
    ...(await checkAcknowledged(options)),
    ...(await checkDatabase(join(dataDir, 'warehouse.duckdb'), options, (invariant) => invariant)),
    ...(await checkDatabase(join(dataDir, 'reports.duckdb'), options, (invariant) =>
      invariant === 'I9' ? 'I9' : 'I5',
    )),
    ...(await checkReports(options)),
    ...(await checkSecrets(options)),
    ...(await checkWorkflows(options)),
    ...(await checkTemporaryFiles(options)),
  ];
}

/** I1. The archive has it; the inbox has it done, or still waiting. */
async function checkAcknowledged({ dataDir, truth }: InvariantOptions): Promise<readonly Violation[]> {
  const files = await listFiles(dataDir);
  const named = (part: string): string[] =>
    files.filter((file) => relative(dataDir, file).startsWith(part)).map((file) => basename(file));
  const [pending, done, archived] = [named('inbox/pending'), named('inbox/done'), named('archive/events')];
  const has = (names: readonly string[], eventId: string): boolean =>
    names.some((name) => name.includes(eventId));
  return truth.acknowledged
    .filter((id) => !has(pending, id) && !(has(done, id) && has(archived, id)))
    .map((id) => broken('I1', `event ${id} was acknowledged and is neither waiting nor forwarded`));
}

/** I4 and I5 as a reader sees them: the reports themselves add up to the books, which know no voided invoice. */
async function checkReports({ dataDir, truth }: InvariantOptions): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const [name, column] of [
    ['tenants', 'tenant'],
    ['carriers', 'carrier'],
  ] as const) {
    const expected = new Map<string, Sum>();
    for (const row of truth.billed) addTo(expected, `${row[column]} ${row.currencyCode}`, row.billingCost);
    try {
      const databasePath = join(dataDir, 'reports.duckdb');
      const { rows } = await runReport({ databasePath, name, filters: { level: 'all' } });
      const found = new Map(
        rows.map((row): [string, Sum] => [
          `${row[column]} ${row.currency_code}`,
          { rows: Number(row.shipments), tenThousandths: exact(String(row.billing_cost)) },
        ]),
      );
      for (const what of differences(expected, found)) {
        violations.push(broken('I4', `report ${name}: ${what}`));
      }
    } catch (error) {
      violations.push(broken('I5', `report ${name} cannot be had: ${String(error)}`));
    }
  }
  return violations;
}

const ANSWERED_WITHIN_SECONDS = 60;

/**
 * A task whose worker was killed is given out again, when its ten seconds are over; so the next worker must be left at work until
 * none is tried again, before it is stopped and I7 asked. A task that is never answered is left for I7 to find.
 */
export async function letWorkflowTasksEnd(client: Client): Promise<void> {
  for (let second = 0; second < ANSWERED_WITHIN_SECONDS; second += 1) {
    if ((await retriedTasks(client)).length === 0) return;
    await sleep(1_000);
  }
}

async function retriedTasks(client: Client) {
  const found: { readonly workflowId: string; readonly attempt: number }[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query: 'ExecutionStatus="Running"' })) {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
    if (attempt > 1) found.push({ workflowId, attempt });
  }
  return found;
}

/** I7: asks for every open workflow, and reads what the workers wrote. */
async function checkWorkflows({ client, logFolder }: InvariantOptions): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  if (client !== null) {
    for (const { workflowId, attempt } of await retriedTasks(client)) {
      violations.push(broken('I7', `${workflowId}: its workflow task is at attempt ${attempt}`));
    }
    for await (const { workflowId } of client.workflow.list({ query: 'ExecutionStatus="Failed"' })) {
      violations.push(broken('I7', `${workflowId} failed`));
    }
  }
  for (const file of logFolder === undefined ? [] : await listFiles(logFolder)) {
    const lines = (await readFile(file, 'utf8')).split('\n');
    const warnings = lines.filter((line) => /unfinished|TMPRL1102/i.test(line));
    for (const line of warnings) violations.push(broken('I7', `${basename(file)}: ${line.slice(0, 200)}`));
  }
  return violations;
}

const OLDEST_TEMPORARY_MS = 10 * 60_000;

/** I8, of the whole data folder; Temporal's database makes its own. */
async function checkTemporaryFiles({ dataDir, now = () => new Date() }: InvariantOptions) {
  const violations: Violation[] = [];
  for (const file of await listFiles(dataDir)) {
    const name = relative(dataDir, file);
    if (name.startsWith('temporal/') || !/\.(tmp|part|dead)$|(^|\/)tmp\//.test(name)) continue;
    const made = await stat(file).catch(() => null);
    if (made === null) continue;
    const ageMs = now().getTime() - made.mtimeMs;
    if (ageMs > OLDEST_TEMPORARY_MS)
      violations.push(broken('I8', `${name} is ${Math.round(ageMs / 60_000)} min old`));
  }
  return violations;
}

export type InvariantName = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9';

export interface Violation {
  readonly invariant: InvariantName;
  readonly what: string;
}

export interface Truth {
  /** A row per shipment of every invoice that counts; the decimal is exact text. */
  readonly billed: readonly BilledRow[];
  readonly voided: readonly string[];
  /** Answered with 2xx, and to be acted on (no test events, no refused ones). */
  readonly acknowledged: readonly string[];
}

export interface BilledRow {
  readonly invoiceId: string;
  readonly tenant: string;
  readonly carrier: string;
  readonly currencyCode: string;
  readonly billingCost: string;
}

export interface InvariantOptions {
  readonly dataDir: string;
  readonly truth: Truth;
  /** Where the roles' logs lie; searched for secrets and warnings. */
  readonly logFolder?: string;
  /** null: Temporal was not part of the test, I7 then looks at the logs alone. */
  readonly client: Client | null;
  /** Texts that must be nowhere, at least eight characters each. */
  readonly secrets?: readonly string[];
  readonly now?: () => Date;
}

export function broken(invariant: InvariantName, what: string): Violation {
  return { invariant, what };
}

/** @param nameOf under which name a broken invariant is told: all of the published file's are I5 */
export async function checkDatabase(
  path: string,
  { dataDir, truth }: InvariantOptions,
  nameOf: (invariant: InvariantName) => InvariantName,
): Promise<readonly Violation[]> {
  try {
    const found = await askACopy(path, async (ask) => [
      ...(await checkRows(ask, truth)),
      ...(await checkLedgers(ask, dataDir)),
      ...(await checkVoided(ask, truth)),
      ...(await ask('select index_name from duckdb_indexes()')).map(({ index_name }) =>
        broken('I9', `there is an index ${index_name}`),
      ),
    ]);
    return found.map(({ invariant, what }) =>
      broken(nameOf(invariant), `${basename(path)}: ${invariant} ${what}`),
    );
  } catch (error) {
    return [broken(nameOf('I2'), `${basename(path)} cannot be read: ${String(error)}`)];
  }
}

/** I2 against the service's books: rows and sum of each invoice, and of each key that reports add up by. */
async function checkRows(ask: Ask, { billed }: Truth): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const key of ['invoiceId', 'tenant', 'carrier'] as const) {
    const column = key === 'invoiceId' ? 'invoice_id' : key;
    const expected = new Map<string, Sum>();
    for (const row of billed) addTo(expected, `${row[key]} ${row.currencyCode}`, row.billingCost);
    const found = new Map(
      (
        await ask(
          `select ${column}::varchar || ' ' || currency_code as name, count(*) as n, sum(billing_cost) as cost
           from shipments group by all`,
        )
      ).map(({ name, n, cost }): [string, Sum] => [
        name ?? '',
        { rows: Number(n), tenThousandths: exact(cost ?? '') },
      ]),
    );
    for (const what of differences(expected, found)) violations.push(broken('I2', `${column} ${what}`));
  }
  return violations;
}

/** I2 against ledger and file, and I3. */
async function checkLedgers(ask: Ask, dataDir: string): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  const loads = await ask(
    `select l.load_id, l.invoice_id, l.file_sha256, l.shipments, l.billing_cost,
            count(r.load_id) as stored, coalesce(sum(r.billing_cost), 0) as stored_cost
     from internal.loads as l left join internal.shipment_rows as r on r.load_id = l.load_id group by all`,
  );
  for (const load of loads) {
    const name = `load ${load.load_id} of invoice ${load.invoice_id}`;
    if (load.stored !== load.shipments || exact(load.stored_cost ?? '') !== exact(load.billing_cost ?? '')) {
      violations.push(
        broken(
          'I2',
          `${name}: ${load.stored} rows (${load.stored_cost}), ledger ${load.shipments} (${load.billing_cost})`,
        ),
      );
    }
    const file = await sumOfFile(dataDir, load.file_sha256 ?? '');
    if (
      describeSum(file) !==
      describeSum({ rows: Number(load.stored), tenThousandths: exact(load.stored_cost ?? '') })
    ) {
      violations.push(
        broken('I2', `${name}: ${load.stored} rows (${load.stored_cost}), file ${describeSum(file)}`),
      );
    }
  }
  for (const { what } of await ask(
    `select 'row of load ' || load_id || ', which no ledger knows' as what from internal.shipment_rows
     where load_id not in (select load_id from internal.loads) group by load_id
     union all
     select 'load ' || current_load_id || ' is active for ' || count(*) || ' invoices' from internal.invoice_state
     where current_load_id is not null group by current_load_id having count(*) > 1
     union all
     select 'invoice ' || invoice_id || ' has file ' || file_sha256 || ' ' || count(*) || ' times' from internal.loads
     group by invoice_id, file_sha256 having count(*) > 1
     union all
     select 'invoice ' || invoice_id || ' has ' || count(distinct file_sha256) || ' files in shipments'
     from shipments group by invoice_id having count(distinct file_sha256) > 1
     union all
     select 'invoice ' || invoice_id || ' has ' || count(*) || ' rows of state' from internal.invoice_state
     group by invoice_id having count(*) > 1`,
  )) {
    violations.push(broken('I3', what ?? ''));
  }
  return violations;
}

/** I4: neither as rows nor as an invoice that counts. */
async function checkVoided(ask: Ask, { voided }: Truth): Promise<readonly Violation[]> {
  const shown = new Set(
    (await ask('select distinct invoice_id from shipments')).map(({ invoice_id }) => invoice_id),
  );
  const states = new Map(
    (await ask('select invoice_id, state from invoices')).map((row) => [row.invoice_id, row.state]),
  );
  return voided.flatMap((id) => [
    ...(shown.has(id) ? [broken('I4', `voided invoice ${id} has rows in shipments`)] : []),
    ...(states.get(id) === 'voided'
      ? []
      : [broken('I4', `voided invoice ${id} is ${states.get(id) ?? 'unknown'}`)]),
  ]);
}

/** The archived file, read by another CSV reader than the product's two. */
async function sumOfFile(dataDir: string, sha256: string): Promise<Sum | undefined> {
  const path = join(dataDir, 'archive', 'files', sha256.slice(0, 2), `${sha256}.csv`);
  const bytes = await readFile(path).catch(() => null);
  if (bytes === null) return undefined;
  const rows = parse(bytes, { columns: true, bom: true }) as Readonly<Record<string, string>>[];
  const costs = rows.map((row) => exact(row['Billing Cost'] ?? ''));
  return { rows: rows.length, tenThousandths: costs.reduce((sum, cost) => sum + cost, 0n) };
}

/** I6: data folder (what is meant to hold secrets excepted), logs, tables, histories. */
export async function checkSecrets({ dataDir, logFolder, secrets = [], client }: InvariantOptions) {
  const places = [
    ...(await listFiles(dataDir)).filter((file) => !/^(inbox\/pending|keys)\//.test(relative(dataDir, file))),
    ...(logFolder === undefined ? [] : await listFiles(logFolder)),
  ];
  const found: Violation[] = [];
  for (const place of places) {
    const bytes = await readFile(place).catch(() => Buffer.alloc(0));
    for (const secret of findSecrets(bytes, secrets)) found.push(broken('I6', `${place} holds ${secret}`));
  }
  if (secrets.length === 0) return found;
  for (const name of ['warehouse.duckdb', 'reports.duckdb']) {
    const told = await textOf(join(dataDir, name)).catch(() => '');
    for (const secret of findSecrets(Buffer.from(told), secrets))
      found.push(broken('I6', `a table of ${name} holds ${secret}`));
  }
  if (client === null) return found;
  for await (const { workflowId, runId } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const secret of findSecrets(bytesOf(history), secrets)) {
      found.push(broken('I6', `the history of ${workflowId} holds ${secret}`));
    }
  }
  return found;
}

/** Every value of every table: DuckDB compresses texts, so its bytes alone say nothing. */
function textOf(path: string): Promise<string> {
  return askACopy(path, async (ask) => {
    const tables = await ask('select table_name from duckdb_tables() where not internal');
    const texts: string[] = [];
    for (const { table_name } of tables) texts.push(JSON.stringify(await ask(`from "${table_name}"`)));
    return texts.join('\n');
  });
}

/** Everything that a history says: its texts, and the bytes of its payloads as they are. */
function bytesOf(told: unknown): Buffer {
  if (told instanceof Uint8Array) return Buffer.from(told);
  if (typeof told === 'string') return Buffer.from(told);
  if (told === null || typeof told !== 'object') return Buffer.alloc(0);
  return Buffer.concat(Object.values(told).flatMap((part) => [bytesOf(part), Buffer.from('\n')]));
}
