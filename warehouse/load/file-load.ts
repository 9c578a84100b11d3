/** A file that is to be loaded, and where its rows go. */

import type { ArchivedFile, CsvTolerance } from '../../lib/wire/csv-file.ts';
import { MAX_FINDINGS, type ScanRule } from '../../lib/wire/csv-scanner.ts';
import { dropIdleZeros } from '../../lib/wire/decimal.ts';
import type { FileSource } from '../../lib/wire/names.ts';
import { printable } from '../../lib/wire/text.ts';
import type { BrokenRows } from '../csv/find-broken-rows.ts';
import { readFormOf } from '../csv/read-csv.ts';
import { readBounded } from '../csv/read-in-thread.ts';
import type { Session } from '../duckdb/session.ts';
import type { Statements } from '../duckdb/statements.ts';
import type { FileLoadOutcome, Rejection } from '../warehouse.ts';

export interface FileLoad {
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  /** Of the file on this machine. */
  readonly csvPath: string;
  readonly source: FileSource;
  readonly announcedSha256: string | null;
  readonly encodedSha256?: string | null;
  /** As it was decided when it was loaded first; of a repeated load only. */
  readonly isDenied?: boolean;
  readonly isDamaged?: boolean;
  /** See `LoadRequest`. */
  readonly acceptsSpreadsheet?: boolean;
  readonly eventId: string | null;
  readonly workflowRunId: string | null;
  readonly loadId: number;
  /** null: the next one. A rebuild says which it was. */
  readonly version: number | null;
  /** ISO 8601 UTC. */
  readonly loadedAt: string;
  /** A rebuild repeats what was decided then: neither a later void nor a header refuses the rows. */
  readonly isRepeated: boolean;
  /** What the partner accepts besides the specified form. */
  readonly tolerances: readonly CsvTolerance[];
  /** As the file's scan has it; `RECORDS_PER_CUT` unless told. */
  readonly recordsPerCut?: number | undefined;
}

/** Where a load's rows and its line in the ledger lie, and what makes either final. */
export interface LoadPlaces {
  /** Around everything that makes the load count. */
  ledger<T>(session: Session, work: (ledger: Statements) => Promise<T>): Promise<T>;
  /** Around the rows alone, inside the above. */
  rows<T>(session: Session, work: () => Promise<T>): Promise<T>;
}

/* Why a file is not loaded, told whole: what the byte scan found, and what is wrong in the cells. */

/**
 * Faults that leave the records apart: what else is wrong in them can be said at once, not after the next new file.
 * A record that is too big for a reader is given to none.
 */
const LEAVES_RECORDS_APART: ReadonlySet<string> = new Set<ScanRule>(['field-count', 'nul', 'utf-8']);

/** A file, and whose rows it should hold; null: any invoice's. */
export type Refused = Pick<FileLoad, 'file' | 'csvPath'> & { readonly invoiceId: string | null };

/** The findings of the scan and, where records can be told apart, those of the cells; at most a hundred, by line. */
export async function refusedByScan(refused: Refused): Promise<Rejection> {
  const { file, csvPath, invoiceId } = refused;
  const { findings, findingCount } = file.scan;
  const told = rejected({ findings, findingCount, wants: wantsOf(refused) });
  const isToldWhole = findingCount >= MAX_FINDINGS;
  if (isToldWhole || !findings.every(({ rule }) => LEAVES_RECORDS_APART.has(rule))) return told;
  const read = await readBounded({ csvPath, invoiceId, skipsRagged: true });
  if ('stopped' in read) return told;
  const { broken } = read;
  const all = [...findings, ...broken.findings].toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
  return rejected({
    findings: all.slice(0, MAX_FINDINGS),
    findingCount: findingCount + broken.findingCount,
    isCutOff: broken.isCutOff,
  });
}

/**
 * For a file that the scan let pass; without findings when csv-parse has nothing to object to.
 *
 * @param why the file is refused in any case: what is said when looking for the place took too long
 */
export async function refusedByCells(
  { csvPath, invoiceId }: Omit<Refused, 'file'>,
  why: string | null = null,
): Promise<Rejection> {
  const read = await readBounded({ csvPath, invoiceId, skipsRagged: false });
  if (!('stopped' in read)) return refusedRows(read.broken);
  if (why === null) return rejected({ findings: [], findingCount: 0 });
  return rejected({ unexplained: `looking for the place was stopped, ${read.stopped}; ${why}` });
}

export function refusedRows(broken: Omit<BrokenRows, 'records'>): Rejection {
  const { findings } = broken;
  const isIdle = findings.some(({ rule, value }) => AMOUNT_RULES.has(rule) && dropIdleZeros(value) !== value);
  return rejected({ ...broken, wants: isIdle ? ['decimals'] : [] });
}

const AMOUNT_RULES: ReadonlySet<string> = new Set(['amount', 'weight']);

/** What a partner could tolerate so that the file is read; none when it is not its form that is wrong. */
function wantsOf({ file: { scan }, csvPath }: Refused): readonly CsvTolerance[] {
  const rules = new Set(scan.findings.map(({ rule }) => rule));
  if (![...rules].every((rule) => FORM_RULES.has(rule))) return [];
  const lineEnds = rules.has('bare-lf') ? (['line-ends'] as const) : [];
  if (!rules.has('header')) return rules.has('field-count') ? [] : lineEnds;
  const form = readFormOf(csvPath);
  return form === null ? [] : [...lineEnds, ...form.needs];
}

/** Rules that a file of another form breaks. */
const FORM_RULES: ReadonlySet<string> = new Set<ScanRule>(['header', 'field-count', 'bare-lf']);

export function rejected(
  told:
    | (Pick<Rejection, 'findings' | 'findingCount' | 'isCutOff'> & { readonly wants?: Rejection['wants'] })
    | { readonly unexplained: string },
): Rejection {
  if ('unexplained' in told) {
    const value = printable(told.unexplained);
    const finding = { line: null, row: null, column: null, rule: 'unexplained', value };
    return { outcome: 'rejected', findings: [finding], findingCount: 1 };
  }
  const { findings, findingCount, isCutOff = false, wants = [] } = told;
  return {
    ...{ outcome: 'rejected', findings, findingCount },
    ...(isCutOff ? { isCutOff } : {}),
    ...(wants.length > 0 ? { wants } : {}),
  };
}

/** Ends the transaction with a rollback and carries the answer out of it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly outcome: FileLoadOutcome;

  constructor(outcome: FileLoadOutcome) {
    super(outcome.outcome);
    this.outcome = outcome;
  }
}
