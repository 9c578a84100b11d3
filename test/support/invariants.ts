/**
 * The nine invariants that hold after every kill and every fault. The check reads the data folder and Temporal, shares no query with
 * the product, and returns all violations.
 *
 * I1 acknowledged events are stored, and processed or pending · I2 rows = rows of the file = ledger, sums exact ·
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
import { addTo, describeSum, differences, exact, type Query, queryCopy, type Sum } from './published-data.ts';

/**
 * To be called when no process writes the warehouse: its file and its write-ahead log are copied and opened.
 *
 * @returns all violations; empty when all nine invariants hold
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

/** I1: every event is archived and forwarded, or pending in the inbox. */
async function checkAcknowledged({ dataDir, truth }: InvariantOptions): Promise<readonly Violation[]> {
  const files = await listFiles(dataDir);
  const named = (part: string): string[] =>
    files.filter((file) => relative(dataDir, file).startsWith(part)).map((file) => basename(file));
  const [pending, done, archived] = [named('inbox/pending'), named('inbox/done'), named('archive/events')];
  const has = (names: readonly string[], eventId: string): boolean =>
    names.some((name) => name.includes(eventId));
  return truth.acknowledged
    .filter((id) => !has(pending, id) && !(has(done, id) && has(archived, id)))
    .map((id) => broken('I1', `event ${id} was acknowledged and is neither pending nor forwarded`));
}

/** I4 and I5 for a reader: the reports equal the service's rows, which contain no voided invoice. */
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
      violations.push(broken('I5', `report ${name} failed: ${String(error)}`));
    }
  }
  return violations;
}

const MAX_WAIT_SECONDS = 60;

/**
 * Waits until no workflow task is retried: the task of a killed worker is assigned to the next worker after ten seconds, which has to
 * happen before that worker is stopped and I7 is checked. I7 reports a task that is never completed.
 */
export async function letWorkflowTasksEnd(client: Client): Promise<void> {
  for (let second = 0; second < MAX_WAIT_SECONDS; second += 1) {
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

/** I7: every open workflow, and the logs of the workers. */
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

/** I8: the whole data folder except Temporal's database, which has temporary files of its own. */
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
  /** A row per shipment of every approved invoice; the decimal is exact text. */
  readonly billed: readonly BilledRow[];
  readonly voided: readonly string[];
  /** Answered with 2xx and to be processed (no test events, no quarantined ones). */
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
  /** Folder of the roles' logs, which are searched for secrets and warnings. */
  readonly logFolder?: string;
  /** null when Temporal does not run: I7 then checks the logs only. */
  readonly client: Client | null;
  /** Texts that must not occur anywhere, of at least eight characters. */
  readonly secrets?: readonly string[];
  readonly now?: () => Date;
}

export function broken(invariant: InvariantName, what: string): Violation {
  return { invariant, what };
}

/** @param nameOf the reported name of an invariant: all of the published file's are I5 */
export async function checkDatabase(
  path: string,
  { dataDir, truth }: InvariantOptions,
  nameOf: (invariant: InvariantName) => InvariantName,
): Promise<readonly Violation[]> {
  try {
    const found = await queryCopy(path, async (query) => [
      ...(await checkRows(query, truth)),
      ...(await checkLedgers(query, dataDir)),
      ...(await checkVoided(query, truth)),
      ...(await query('select index_name from duckdb_indexes()')).map(({ index_name }) =>
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

/** I2 against the service's rows: count and sum of each invoice, tenant and carrier. */
async function checkRows(query: Query, { billed }: Truth): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const key of ['invoiceId', 'tenant', 'carrier'] as const) {
    const column = key === 'invoiceId' ? 'invoice_id' : key;
    const expected = new Map<string, Sum>();
    for (const row of billed) addTo(expected, `${row[key]} ${row.currencyCode}`, row.billingCost);
    const found = new Map(
      (
        await query(
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
async function checkLedgers(query: Query, dataDir: string): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  const loads = await query(
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
  for (const { what } of await query(
    `select 'row of load ' || load_id || ', which is not in the ledger' as what from internal.shipment_rows
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

/** I4: neither rows nor a loaded state. */
async function checkVoided(query: Query, { voided }: Truth): Promise<readonly Violation[]> {
  const withRows = new Set(
    (await query('select distinct invoice_id from shipments')).map(({ invoice_id }) => invoice_id),
  );
  const states = new Map(
    (await query('select invoice_id, state from invoices')).map((row) => [row.invoice_id, row.state]),
  );
  return voided.flatMap((id) => [
    ...(withRows.has(id) ? [broken('I4', `voided invoice ${id} has rows in shipments`)] : []),
    ...(states.get(id) === 'voided'
      ? []
      : [broken('I4', `voided invoice ${id} is ${states.get(id) ?? 'unknown'}`)]),
  ]);
}

/** The sum of the archived file, by another CSV reader than the product's two. */
async function sumOfFile(dataDir: string, sha256: string): Promise<Sum | undefined> {
  const path = join(dataDir, 'archive', 'files', sha256.slice(0, 2), `${sha256}.csv`);
  const bytes = await readFile(path).catch(() => null);
  if (bytes === null) return undefined;
  const rows = parse(bytes, { columns: true, bom: true }) as Readonly<Record<string, string>>[];
  const costs = rows.map((row) => exact(row['Billing Cost'] ?? ''));
  return { rows: rows.length, tenThousandths: costs.reduce((sum, cost) => sum + cost, 0n) };
}

/** I6: data folder (except the places of secrets), logs, tables, histories. */
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
    const text = await textOf(join(dataDir, name)).catch(() => '');
    for (const secret of findSecrets(Buffer.from(text), secrets))
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

/** Every value of every table, since DuckDB compresses texts in the file. */
function textOf(path: string): Promise<string> {
  return queryCopy(path, async (query) => {
    const tables = await query('select table_name from duckdb_tables() where not internal');
    const texts: string[] = [];
    for (const { table_name } of tables) texts.push(JSON.stringify(await query(`from "${table_name}"`)));
    return texts.join('\n');
  });
}

/** The texts of a history and the bytes of its payloads. */
function bytesOf(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (typeof value === 'string') return Buffer.from(value);
  if (value === null || typeof value !== 'object') return Buffer.alloc(0);
  return Buffer.concat(Object.values(value).flatMap((part) => [bytesOf(part), Buffer.from('\n')]));
}
