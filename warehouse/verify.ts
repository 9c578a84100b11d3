/**
 * Differences between the rows of a load, its archived file and its recorded totals are drift; contradicting statements of the
 * service are `discrepancies`. `full` also proves that the archive still has every event and fact.
 */

import type { Archive } from '../archive/archive.ts';
import { purgedFilesOf } from '../archive/retention.ts';
import { isDamagedFile } from '../lib/files/damaged-database.ts';
import type { Drift, Verification } from '../lib/warehouse-requests.ts';
import { type ArchivedFile, CSV_TOLERANCES, isSpecified } from '../lib/wire/csv-file.ts';
import { RECORDS_PER_CUT } from '../lib/wire/csv-scanner.ts';
import { type Database, MEMORY } from './duckdb/database.ts';
import type { Session } from './duckdb/session.ts';
import type { Row } from './duckdb/statements.ts';
import type { StoredRecord } from './ledger/archive-diff.ts';
import { deriveInvoice } from './ledger/derive-invoice.ts';
import type { SetAside } from './ledger/ingest.ts';
import { readSetAside } from './ledger/ingest.ts';
import { readInvoiceLines } from './ledger/invoice-states.ts';
import { numberChunks, tolerate } from './load/chunks.ts';
import { verifyFacts, verifyNames } from './verify-facts.ts';

export interface VerifyOptions {
  readonly database: Database;
  readonly archive: Archive;
  readonly full: boolean;
  readonly now: Date;
  readonly ingest: () => Promise<unknown>;
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
  /** Around each step; a publication may run between steps. */
  readonly step?: <T>(work: () => Promise<T>) => Promise<T>;
  readonly pendingLoads?: () => Promise<(load: StoredRecord) => boolean>;
}

const STORE_EVERY = 50;
const UNREADABLE = 'rows-unreadable';

export async function verifyWarehouse(options: VerifyOptions): Promise<Verification> {
  const { database, archive, full, ingest, step = (work) => work() } = options;
  const { pendingLoads = async () => () => false } = options;
  const purgedFiles = purgedFilesOf(archive);
  const loads = await step(() => database.all('loads-to-verify', { full }));
  const drift: Drift[] = [];
  const known = new Set<string>();
  let verified: number[] = [];
  const storeVerified = async (): Promise<void> => {
    if (verified.length === 0) return;
    const params = { load_ids: `[${verified.join(', ')}]`, verified_at: options.now.toISOString() };
    verified = [];
    await step(() => database.all('mark-verified', params));
  };
  let filesRead = 0;
  let shipments = 0;
  let purged = 0;
  if (loads.length > 0) options.onProgress?.(0, loads.length);
  try {
    for (const [index, load] of loads.entries()) {
      const found = await step(() =>
        verifyLoad(options, load, purgedFiles).catch((error) => unreadable(load, error)),
      );
      drift.push(...found.drift);
      for (const { rule } of found.drift) known.add(`${load.load_id} ${rule}`);
      if (found.drift.length === 0) verified.push(Number(load.load_id));
      if (verified.length >= STORE_EVERY) await storeVerified();
      if (found.fileRead === 'purged') purged += 1;
      else if (found.fileRead) filesRead += 1;
      shipments += Number(load.shipments);
      options.onProgress?.(index + 1, loads.length);
    }
  } catch (error) {
    await storeVerified().catch(() => undefined);
    throw error;
  }
  const isUnreadable = drift.some(({ rule }) => rule === UNREADABLE);
  for (const { loadId, ...found } of await step(() => verifyLedgers(database))) {
    if (!known.has(`${loadId} ${found.rule}`) && !(isUnreadable && found.rule === UNREADABLE))
      drift.push(found);
  }
  drift.push(...(await verifyNames({ database, archive, ingest, step })));
  if (full) {
    const isKnown = (loadId: number, rule: string): boolean => known.has(`${loadId} ${rule}`);
    drift.push(
      ...(await verifyFacts({ database, archive, ingest, step, pendingLoads, isKnown, purgedFiles })),
    );
    drift.push(...(await step(() => database.transaction(verifyStates))));
  }
  const reported = new Set(drift.map(({ found }) => found));
  const setAside = (await step(() => readSetAside(database))).map(driftOfSetAside);
  drift.push(...setAside.filter(({ found }) => !reported.has(found)));
  await storeVerified();
  const [{ discrepancies = 0 } = {}] = await step(() =>
    database.all('select count(*)::integer as discrepancies from discrepancies'),
  );
  const invoices = new Set(loads.map((load) => String(load.invoice_id))).size;
  return {
    ...{ invoices, shipments, filesRead, drift, discrepancies: Number(discrepancies) },
    ...(purged === 0 ? {} : { purged }),
  };
}

interface VerifiedLoad {
  readonly drift: readonly Drift[];
  readonly fileRead: boolean | 'purged';
}

async function verifyLoad(
  { database, archive }: VerifyOptions,
  load: Row,
  purgedFiles: () => Promise<ReadonlySet<string>>,
): Promise<VerifiedLoad> {
  const invoiceId = String(load.invoice_id);
  const rows = await database.use((session) =>
    session.first('fingerprint-rows', {
      load_id: Number(load.load_id),
      currency_code: currencyOf(load),
    }),
  );
  const drift = compare(invoiceId, { recorded: load, found: rows });
  const sha256 = String(load.file_sha256);
  const [stored, file] = [await archive.reread(sha256), await archive.file(sha256)];
  if (stored === null || file === null) {
    if ((await purgedFiles()).has(sha256)) return { drift, fileRead: 'purged' };
    const missing: Drift = { invoiceId, rule: 'file-missing', expected: sha256, found: 'not in the archive' };
    return { drift: [...drift, missing], fileRead: false };
  }
  const { path: csvPath } = stored;
  if (csvPath === null) {
    return {
      drift: [...drift, { invoiceId, rule: 'hash', expected: sha256, found: stored.sha256 }],
      fileRead: true,
    };
  }
  // One line per fault: the comparison with the file takes precedence over that with the recorded totals.
  const differing = await compareWithFile(database, { load, csvPath, file }, rows);
  const rules = new Set(differing.map(({ rule }) => rule));
  return { drift: [...differing, ...drift.filter(({ rule }) => !rules.has(rule))], fileRead: true };
}

function unreadable(load: Row, error: unknown): VerifiedLoad {
  if (!isDamagedFile(error)) throw error;
  const drift: Drift = {
    invoiceId: String(load.invoice_id),
    rule: UNREADABLE,
    expected: `${load.shipments} rows of load ${load.load_id}`,
    found: `${error.message} ${error.hint}`,
  };
  return { drift: [drift], fileRead: false };
}

function compare(invoiceId: string, { recorded, found }: { recorded: Row; found: Row }): Drift[] {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['rows', recorded.shipments, found.rows],
    ['sum', recorded.billing_cost, found.billing_cost],
    ['currency', recorded.currencies, found.currencies],
    [
      'period',
      `${recorded.first_ship_date}/${recorded.last_ship_date}`,
      `${found.first_ship_date}/${found.last_ship_date}`,
    ],
  ];
  return pairs.flatMap(([rule, expected, actual]) =>
    String(expected) === String(actual)
      ? []
      : [{ invoiceId, rule, expected: String(expected), found: String(actual) }],
  );
}

interface FileOfLoad {
  readonly load: Row;
  readonly csvPath: string;
  readonly file: ArchivedFile;
}

async function compareWithFile(database: Database, of: FileOfLoad, rows: Row): Promise<readonly Drift[]> {
  const invoiceId = String(of.load.invoice_id);
  const read = await fingerprintFile(database, of);
  const drift = compare(invoiceId, { recorded: read, found: rows }).filter(({ rule }) => rule !== 'rows');
  if (Number(read.rows) !== Number(rows.rows)) {
    drift.push({ invoiceId, rule: 'rows', expected: `${read.rows} in the file`, found: String(rows.rows) });
  }
  if (Number(read.bad_rows) > 0) {
    drift.push({
      invoiceId,
      rule: 'invoice-id',
      expected: 'every row keeps the rules',
      found: `${read.bad_rows} do not`,
    });
  }
  if (drift.length === 0 && read.fingerprint !== rows.fingerprint) {
    drift.push({ invoiceId, rule: 'cells', expected: 'the cells of the file', found: 'other cells' });
  }
  return drift;
}

/** The same form as in the verification of the archive, so that one fault is one line. */
function driftOfSetAside({ place, why }: SetAside): Drift {
  return {
    invoiceId: '',
    rule: 'record-set-aside',
    expected: 'a record that can be ingested',
    found: `${place}: ${why}`,
  };
}

/** Without rows that no load owns if they are of a lake: those of a load in progress are not counted yet, and tidying removes the others. */
async function verifyLedgers(database: Database): Promise<readonly (Drift & { readonly loadId: number })[]> {
  const reading = database.transaction(async (session) => {
    // In a lake, the ledgers are read first: rows enter it before their load.
    await session.all('select max(load_id) from loads');
    return session.once('rows-of-loads');
  });
  const found = await reading.catch((error: unknown): readonly Row[] => {
    if (!isDamagedFile(error)) throw error;
    return [{ rule: UNREADABLE, load_id: 0, invoice_id: '', expected: 'all rows', found: error.message }];
  });
  return found
    .filter(({ rule }) => rule !== 'orphan-rows' || database.path !== MEMORY)
    .map((row) => ({
      loadId: Number(row.load_id),
      invoiceId: String(row.invoice_id),
      rule: String(row.rule),
      expected: `${row.expected} of load ${row.load_id}`,
      found: String(row.found),
    }));
}

async function verifyStates(session: Session): Promise<readonly Drift[]> {
  const stored = await session.all('read-states');
  const drift: Drift[] = [];
  for (let start = 0; start < stored.length; start += STATES_AT_ONCE) {
    const batch = stored.slice(start, start + STATES_AT_ONCE);
    const ids = batch.map((row) => String(row.invoice_id));
    const lines = await readInvoiceLines(session, ids);
    for (const { invoice_id, ...row } of batch) {
      const invoiceId = String(invoice_id);
      const of = lines.get(invoiceId);
      const made = of === undefined ? undefined : deriveInvoice(of)?.row;
      for (const [cell, found] of Object.entries(row)) {
        const expected: unknown = made?.[cell as keyof typeof made] ?? null;
        if (expected === found) continue;
        drift.push({ invoiceId, rule: 'state', expected: `${cell} ${expected}`, found: `${cell} ${found}` });
      }
    }
  }
  return drift;
}

const STATES_AT_ONCE = 2_000;

function currencyOf({ currency_code: code }: Row): string | null {
  return typeof code === 'string' ? code : null;
}

async function fingerprintFile(database: Database, of: FileOfLoad): Promise<Row> {
  const { load, csvPath, file } = of;
  const params = { currency_code: currencyOf(load), csv_path: csvPath, invoice_id: String(load.invoice_id) };
  const asSpecified = (): Promise<Row> =>
    database.use((session) => session.first('fingerprint-file', params));
  const read = isSpecified(file.scan) ? await asSpecified() : null;
  if (read !== null && Number(read.bad_rows) === 0) return read;
  return (await fingerprintTolerated(database, of)) ?? read ?? asSpecified();
}

/** null: the file breaks rules under every tolerance. */
async function fingerprintTolerated(
  database: Database,
  { load, csvPath, file }: FileOfLoad,
): Promise<Row | null> {
  const invoiceId = String(load.invoice_id);
  const read = await tolerate({ csvPath, invoiceId, file }, CSV_TOLERANCES, database.temporaryFolder);
  if (read === null || 'outcome' in read) return null;
  const { folder, count, discard } = read.chunks;
  try {
    return await database.use(async (session) => {
      await session.script(numberChunks(count, RECORDS_PER_CUT));
      const [found] = await session.once('fingerprint-tolerated', {
        ...{ currency_code: currencyOf(load), folder, chunks: count, invoice_id: invoiceId },
      });
      return found ?? null;
    });
  } finally {
    await discard();
  }
}
