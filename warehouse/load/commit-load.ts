/** Rows, line of the load and row of the invoice are one transaction, and are read back after the commit (hazard 9). */

import type { FileLoadOutcome, LoadedRows, LoadOutcome, LoadRequest } from '../../lib/warehouse-requests.ts';
import type { Session } from '../duckdb/session.ts';
import type { Ledgers, Params, Row, Statements } from '../duckdb/statements.ts';
import { isWarehouseError, WarehouseError } from '../errors.ts';
import { outrankedBy } from '../ledger/derive-current.ts';
import { type DerivedInvoice, deriveInvoice } from '../ledger/derive-invoice.ts';
import type { InvoiceLines, LoadLine } from '../ledger/invoice-lines.ts';
import {
  readInvoiceLines,
  readStoredLines,
  type StoredInvoice,
  writeInvoices,
} from '../ledger/invoice-states.ts';
import { checkRows, type NewLine } from './accept-rows.ts';
import { type FileLoad, type LoadTransactions, Refusal } from './rejections.ts';

export interface Commit {
  readonly transactions: LoadTransactions;
  readonly insert: () => Promise<readonly Row[]>;
}

export interface BatchCommit {
  readonly transactions: LoadTransactions;
  readonly totals: readonly Row[];
  readonly insert: (loads: readonly FileLoad[]) => Promise<unknown>;
}

/** @throws Refusal, loaded-meanwhile, load-lost, misread */
export async function commitLoad(
  session: Session,
  load: FileLoad,
  { transactions, insert }: Commit,
): Promise<FileLoadOutcome> {
  const loaded = await transactions.ledger(session, async (ledger) => {
    const { stored, linesFor } = await readLines(ledger, [load]);
    const lines = linesFor(load);
    const line = await transactions.rows(session, async () => {
      await clearRows(session, ledger, [load]);
      return checkRows(load, await insert(), lines);
    });
    return insertLoads(ledger, [{ load, lines, line }], stored);
  });
  await readBack(session, [load], loaded);
  const [rows] = loaded;
  if (rows === undefined)
    throw new WarehouseError('load-lost', [load.invoiceId, 'the commit returned nothing']);
  return { outcome: 'loaded', ...rows };
}

/**
 * Loads of different invoices: all that may be loaded, or none.
 * @returns in their order; null: the file has to be loaded alone, to find out what is wrong @throws load-lost
 */
export async function commitLoads(
  session: Session,
  loads: readonly FileLoad[],
  { transactions, totals, insert }: BatchCommit,
): Promise<readonly (FileLoadOutcome | null)[]> {
  const found = groupByLoad(totals);
  const { checked, loaded } = await transactions.ledger(session, async (ledger) => {
    const { stored, linesFor } = await readLines(ledger, loads);
    const checked = loads.map((load) => checkOne(load, found.get(load.loadId) ?? [], linesFor));
    const good = checked.filter((of) => 'line' in of);
    if (good.length === 0) return { checked, loaded: [] };
    const sound = good.map(({ load }) => load);
    await transactions.rows(session, async () => {
      await clearRows(session, ledger, sound);
      await insert(sound);
    });
    return { checked, loaded: await insertLoads(ledger, good, stored) };
  });
  const good = checked.flatMap((of) => ('line' in of ? [of.load] : []));
  if (good.length > 0) await readBack(session, good, loaded);
  const rest = loaded.values();
  return checked.map((of) => {
    if (!('line' in of)) return of.outcome;
    const { value: rows } = rest.next();
    return rows === undefined ? null : { outcome: 'loaded', ...rows };
  });
}

interface Checked {
  readonly load: FileLoad;
  readonly line: NewLine;
  readonly lines: InvoiceLines;
}

function checkOne(
  load: FileLoad,
  totals: readonly Row[],
  linesFor: (load: FileLoad) => InvoiceLines,
): Checked | { readonly outcome: FileLoadOutcome | null } {
  try {
    const lines = linesFor(load);
    return { load, lines, line: checkRows(load, totals, lines) };
  } catch (error) {
    if (error instanceof Refusal) return { outcome: error.outcome };
    if (isWarehouseError(error, 'loaded-meanwhile', 'misread')) return { outcome: null };
    throw error;
  }
}

/** Per currency. The first row of a file of an operator also has the signs of a spreadsheet (`damage_of`). */
export async function readTotals(
  query: (sql: string, params: Params) => Promise<readonly Row[]>,
  table: 'shipment_rows' | 'staged_rows',
  loads: readonly FileLoad[],
): Promise<readonly Row[]> {
  const totals = await query(`from totals_of('${table}', $first::integer, $last::integer)`, spanOf(loads));
  const brought = loads.filter(({ source, isRepeated }) => source === 'file' && !isRepeated);
  if (brought.length === 0) return totals;
  const found = await query(`from damage_of('${table}', $first::integer, $last::integer)`, spanOf(brought));
  const damage = new Map(found.map((row) => [Number(row.load_id), row]));
  return totals.map((row) => {
    const signs = damage.get(Number(row.load_id));
    damage.delete(Number(row.load_id));
    return { ...row, ...signs };
  });
}

/** A statement with this range of load ids skips other row groups. */
export function spanOf(loads: readonly Pick<FileLoad, 'loadId'>[]): { first: number; last: number } {
  const ids = loads.map(({ loadId }) => loadId);
  return { first: Math.min(...ids), last: Math.max(...ids) };
}

async function readBack(
  session: Session,
  loads: readonly FileLoad[],
  loaded: readonly LoadedRows[],
): Promise<void> {
  const found = groupByLoad(await session.all('read-back', spanOf(loads)));
  for (const [index, { loadId, invoiceId }] of loads.entries()) {
    const [row] = found.get(loadId) ?? [];
    const committed = loaded[index]?.shipments;
    if (Number(row?.loads) !== 1 || Number(row?.shipments) !== committed) {
      throw new WarehouseError('load-lost', [
        invoiceId,
        `${committed} rows were committed, and are not there`,
      ]);
    }
  }
}

function groupByLoad(rows: readonly Row[]): ReadonlyMap<number, readonly Row[]> {
  return Map.groupBy(rows, (row) => Number(row.load_id));
}

/**
 * Rows exist once under a load id. Those that no load owns are of an attempt that ended between the two commits of a lake, and are
 * removed in the transaction that inserts the rows again. @throws load-id-taken
 */
async function clearRows(session: Session, ledger: Statements, loads: readonly FileLoad[]): Promise<void> {
  const stored = new Set(
    (await session.all('stored-loads', spanOf(loads))).map(({ load_id }) => Number(load_id)),
  );
  const ids = loads.map(({ loadId }) => loadId).filter((loadId) => stored.has(loadId));
  if (ids.length === 0) return;
  const [owned] = await ledger.all('owned-loads', { load_ids: ids.join(',') });
  if (owned !== undefined) throw new WarehouseError('load-id-taken', [String(owned.load_id)]);
  await session.all('remove-rows', { load_ids: `[${ids.join(', ')}]` });
}

/** Lines are read inside the transaction that inserts the loads, where a void or a second load of the file is seen. */
async function readLines(
  ledger: Statements,
  loads: readonly FileLoad[],
): Promise<{
  readonly stored: ReadonlyMap<string, StoredInvoice>;
  readonly linesFor: (load: FileLoad) => InvoiceLines;
}> {
  const { stored, lines: byInvoice } = await readStoredLines(
    ledger,
    loads.map(({ invoiceId }) => invoiceId),
  );
  const linesFor = (load: FileLoad): InvoiceLines => {
    const lines = byInvoice.get(load.invoiceId) ?? NO_LINES;
    if (!load.isRepeated && typeof deriveInvoice(lines)?.row.voided_at === 'string')
      throw new Refusal({ outcome: 'voided' });
    if (lines.loads.some((line) => line.file_sha256 === load.file.sha256)) {
      throw new WarehouseError('loaded-meanwhile', [load.file.sha256, load.invoiceId]);
    }
    return lines;
  };
  return { stored, linesFor };
}

const NO_LINES: InvoiceLines = { evidence: [], loads: [], attention: [] };

async function insertLoads(
  ledger: Statements,
  checked: readonly Checked[],
  stored: ReadonlyMap<string, StoredInvoice>,
): Promise<readonly LoadedRows[]> {
  const rows = checked.map(({ load, line }) => ({
    ...line,
    invoice_id: load.invoiceId,
    event_id: load.eventId,
    workflow_run_id: load.workflowRunId,
  }));
  await ledger.insert('loads', rows);
  const after = new Map(
    checked.map(({ load, lines, line }) => [load.invoiceId, { ...lines, loads: [...lines.loads, line] }]),
  );
  const derived = await writeInvoices(ledger, after, stored);
  return checked.map(({ load, line }) => {
    const lines = after.get(load.invoiceId) ?? NO_LINES;
    return loadedRows(line, derived.get(load.invoiceId), lines);
  });
}

/** @param lines with the load itself */
export function loadedRows(
  line: LoadLine,
  derived: DerivedInvoice | null | undefined,
  lines: InvoiceLines,
): LoadedRows {
  const counting = lines.loads.find(({ load_id }) => load_id === derived?.row.current_load_id) ?? null;
  return {
    loadId: line.load_id,
    version: line.version,
    shipments: line.shipments,
    billingCost: line.billing_cost,
    currencyCode: line.currency_code ?? '',
    proof: derived?.row.proof ?? 'unproved',
    discrepancies: (derived?.discrepancies ?? []).map(({ rule, stated, found }) => ({ rule, stated, found })),
    outrankedBy: outrankedBy(line, counting, lines),
    isDenied: line.is_denied,
    isDamaged: line.is_damaged,
  };
}

type FileOfInvoice = Pick<LoadRequest, 'invoiceId' | 'sha256'>;

/** Returns null for a file that has to be loaded. The transaction of the load checks again. */
export async function knownLoads(
  ledgers: Ledgers,
  loads: readonly FileOfInvoice[],
): Promise<readonly (LoadOutcome | null)[]> {
  const rows = await ledgers.all('load-known', {
    invoice_ids: loads.map(({ invoiceId }) => invoiceId).join(','),
    file_sha256s: loads.map(({ sha256 }) => sha256).join(','),
  });
  if (rows.length === 0) return loads.map(() => null);
  const known = new Map(rows.map((row) => [`${row.invoice_id} ${row.file_sha256}`, row]));
  const loaded = rows.filter(({ is_voided: isVoided }) => isVoided !== true);
  const ids = [...new Set(loaded.map((row) => String(row.invoice_id)))];
  const lines =
    ids.length === 0
      ? new Map<string, InvoiceLines>()
      : await ledgers.transaction((statements) => readInvoiceLines(statements, ids));
  return loads.map((load) => {
    const row = known.get(`${load.invoiceId} ${load.sha256}`);
    if (row?.is_voided === true) return { outcome: 'voided' };
    return row === undefined ? null : alreadyLoaded(load, lines.get(load.invoiceId));
  });
}

function alreadyLoaded({ sha256 }: FileOfInvoice, lines: InvoiceLines | undefined): LoadOutcome | null {
  const derived = lines === undefined ? null : deriveInvoice(lines);
  if (lines === undefined || derived === null) return null;
  const load = lines.loads.find((line) => line.file_sha256 === sha256);
  if (load === undefined) return null;
  return { outcome: 'already_loaded', ...loadedRows(load, derived, lines) };
}
