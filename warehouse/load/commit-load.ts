/**
 * The part of a load that makes it count: behind the fence, rows, their proof, the load's line and its invoice's row,
 * read back after the commit.
 */

import { wellFormedJson } from '../../lib/wire/json.ts';
import type { Session } from '../duckdb/session.ts';
import type { Ledgers, Params, Row, Statements } from '../duckdb/statements.ts';
import { isWarehouseError, WarehouseError } from '../errors.ts';
import { outrankedBy } from '../ledger/derive-current.ts';
import { type DerivedInvoice, deriveInvoice } from '../ledger/derive-invoice.ts';
import type { InvoiceLines, LoadLine } from '../ledger/invoice-lines.ts';
import {
  type HeldInvoice,
  readHeldLines,
  readInvoiceLines,
  writeInvoices,
} from '../ledger/invoice-states.ts';
import type { FileLoadOutcome, LoadedRows, LoadOutcome, LoadRequest } from '../warehouse.ts';
import { checkRows, type NewLine } from './check-rows.ts';
import { type FileLoad, type LoadPlaces, Refusal } from './file-load.ts';

export interface Commit {
  readonly places: LoadPlaces;
  /** Puts the rows into the table and answers what they amount to, as `totalsOf` does. */
  readonly insert: () => Promise<readonly Row[]>;
}

/** As `Commit`, for rows that are staged: what they amount to is known before any of them is in the table. */
export interface BatchCommit {
  readonly places: LoadPlaces;
  readonly totals: readonly Row[];
  readonly insert: (loads: readonly FileLoad[]) => Promise<unknown>;
}

/** One load. @throws Refusal, loaded-meanwhile, load-lost, misread */
export async function commitLoad(
  session: Session,
  load: FileLoad,
  { places, insert }: Commit,
): Promise<FileLoadOutcome> {
  const loaded = await places.ledger(session, async (ledger) => {
    const before = await readBefore(ledger, [load]);
    const fence = before.fenceOf(load);
    const line = await places.rows(session, async () => checkRows(load, await insert(), fence));
    return insertLoads(ledger, [{ load, fence, line }], before.held);
  });
  await readBack(session, [load], loaded);
  const [rows] = loaded;
  if (rows === undefined)
    throw new WarehouseError('load-lost', [load.invoiceId, 'the commit answered nothing']);
  return { outcome: 'loaded', ...rows };
}

/**
 * Several loads of different invoices as one: all that may be loaded count or none does. Each is checked by itself.
 *
 * @returns in their order what came of each; null: it has to be loaded alone, which then says what is wrong
 * @throws load-lost
 */
export async function commitLoads(
  session: Session,
  loads: readonly FileLoad[],
  { places, totals, insert }: BatchCommit,
): Promise<readonly (FileLoadOutcome | null)[]> {
  const found = groupByLoad(totals);
  const { checked, loaded } = await places.ledger(session, async (ledger) => {
    const before = await readBefore(ledger, loads);
    const checked = loads.map((load) => checkOne(load, found.get(load.loadId) ?? [], before.fenceOf));
    const good = checked.filter((of) => 'line' in of);
    if (good.length === 0) return { checked, loaded: [] };
    await places.rows(session, () => insert(good.map(({ load }) => load)));
    return { checked, loaded: await insertLoads(ledger, good, before.held) };
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

/** A load that counts from now on. */
interface Checked {
  readonly load: FileLoad;
  readonly line: NewLine;
  /** What the ledgers say of its invoice without it. */
  readonly fence: InvoiceLines;
}

function checkOne(
  load: FileLoad,
  totals: readonly Row[],
  fenceOf: (load: FileLoad) => InvoiceLines,
): Checked | { readonly outcome: FileLoadOutcome | null } {
  try {
    const fence = fenceOf(load);
    return { load, fence, line: checkRows(load, totals, fence) };
  } catch (error) {
    if (error instanceof Refusal) return { outcome: error.outcome };
    if (isWarehouseError(error, 'loaded-meanwhile') || isWarehouseError(error, 'misread'))
      return { outcome: null };
    throw error;
  }
}

/**
 * What loads of a span hold per currency, as the rows of that table say it (`totals_of` of sql/csv-session.sql). The first
 * row of a load that a person brought has the signs of a spreadsheet as well (`damage_of`).
 */
export async function readTotals(
  ask: (sql: string, params: Params) => Promise<readonly Row[]>,
  table: 'shipment_rows' | 'staged_rows',
  loads: readonly FileLoad[],
): Promise<readonly Row[]> {
  const totals = await ask(`from totals_of('${table}', $first::integer, $last::integer)`, spanOf(loads));
  const doubted = loads.filter(({ source, isRepeated }) => source === 'file' && !isRepeated);
  if (doubted.length === 0) return totals;
  const found = await ask(`from damage_of('${table}', $first::integer, $last::integer)`, spanOf(doubted));
  const damage = new Map(found.map((row) => [Number(row.load_id), row]));
  return totals.map((row) => {
    const signs = damage.get(Number(row.load_id));
    damage.delete(Number(row.load_id));
    return { ...row, ...signs };
  });
}

/** First and last of the load ids: a statement with this range reads only the row groups that may hold them. */
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
      const there = String(row?.shipments ?? 'none');
      throw new WarehouseError('load-lost', [
        invoiceId,
        `${committed} rows were committed, ${there} are there`,
      ]);
    }
  }
}

function groupByLoad(rows: readonly Row[]): ReadonlyMap<number, readonly Row[]> {
  return Map.groupBy(rows, (row) => Number(row.load_id));
}

/** What the ledgers say inside this transaction: the fence against a void and against a second load of the file. */
async function readBefore(
  ledger: Statements,
  loads: readonly FileLoad[],
): Promise<{
  readonly held: ReadonlyMap<string, HeldInvoice>;
  /** @throws Refusal, loaded-meanwhile */
  readonly fenceOf: (load: FileLoad) => InvoiceLines;
}> {
  const { held, lines } = await readHeldLines(
    ledger,
    loads.map(({ invoiceId }) => invoiceId),
  );
  const fenceOf = (load: FileLoad): InvoiceLines => {
    const fence = lines.get(load.invoiceId) ?? NOTHING;
    if (load.isRepeated) return fence;
    if (typeof deriveInvoice(fence)?.row.voided_at === 'string') throw new Refusal({ outcome: 'voided' });
    if (fence.loads.some((line) => line.file_sha256 === load.file.sha256)) {
      throw new WarehouseError('loaded-meanwhile', [load.file.sha256, load.invoiceId]);
    }
    return fence;
  };
  return { held, fenceOf };
}

const NOTHING: InvoiceLines = { evidence: [], loads: [], attention: [] };

async function insertLoads(
  ledger: Statements,
  checked: readonly Checked[],
  held: ReadonlyMap<string, HeldInvoice>,
): Promise<readonly LoadedRows[]> {
  const rows = checked.map(({ load, line }) => ({
    ...line,
    invoice_id: load.invoiceId,
    event_id: load.eventId,
    workflow_run_id: load.workflowRunId,
  }));
  await ledger.all('insert-loads', { loads: wellFormedJson(rows) });
  const after = new Map(
    checked.map(({ load, fence, line }) => [load.invoiceId, { ...fence, loads: [...fence.loads, line] }]),
  );
  const derived = await writeInvoices(ledger, after, held);
  return checked.map(({ load, line }) => {
    const lines = after.get(load.invoiceId) ?? NOTHING;
    return loadedRows(line, derived.get(load.invoiceId), lines);
  });
}

/** @param lines the load's own included */
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

/* Whether there is anything to do for a file; asked before the transaction, which asks again. */

type Asked = Pick<LoadRequest, 'invoiceId' | 'sha256'>;

/** @returns in their order the answer for an invoice that is voided or has this file already; null: there is work to do */
export async function knownLoads(
  ledgers: Ledgers,
  asked: readonly Asked[],
): Promise<readonly (LoadOutcome | null)[]> {
  const files = asked.map(({ invoiceId, sha256 }) => ({ invoice_id: invoiceId, file_sha256: sha256 }));
  const rows = await ledgers.all('load-known', { files: JSON.stringify(files) });
  if (rows.length === 0) return asked.map(() => null);
  const known = new Map(rows.map((row) => [`${row.invoice_id} ${row.file_sha256}`, row]));
  const loaded = rows.filter(({ is_voided: isVoided }) => isVoided !== true);
  const ids = [...new Set(loaded.map((row) => String(row.invoice_id)))];
  const lines =
    ids.length === 0
      ? new Map<string, InvoiceLines>()
      : await ledgers.transaction((statements) => readInvoiceLines(statements, ids));
  return asked.map((load) => {
    const row = known.get(`${load.invoiceId} ${load.sha256}`);
    if (row?.is_voided === true) return { outcome: 'voided' };
    return row === undefined ? null : alreadyLoaded(load, lines.get(load.invoiceId));
  });
}

/** `knownLoads` of one. */
export async function knownLoad(ledgers: Ledgers, asked: Asked): Promise<LoadOutcome | null> {
  const [known] = await knownLoads(ledgers, [asked]);
  return known ?? null;
}

/** `knownLoads` of files that are about to be loaded. */
export function knownFiles(
  ledgers: Ledgers,
  loads: readonly Pick<FileLoad, 'invoiceId' | 'file'>[],
): Promise<readonly (LoadOutcome | null)[]> {
  const asked = loads.map(({ invoiceId, file }) => ({ invoiceId, sha256: file.sha256 }));
  return knownLoads(ledgers, asked);
}

function alreadyLoaded({ sha256 }: Asked, of: InvoiceLines | undefined): LoadOutcome | null {
  const derived = of === undefined ? null : deriveInvoice(of);
  if (of === undefined || derived === null) return null;
  const load = of.loads.find((line) => line.file_sha256 === sha256);
  if (load === undefined) return null;
  const counting = of.loads.find((line) => line.load_id === derived.row.current_load_id);
  return {
    outcome: 'already_loaded',
    countingVersion: counting?.version ?? null,
    ...loadedRows(load, derived, of),
  };
}
