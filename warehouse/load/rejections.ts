import { dropIdleZeros } from '../../lib/decimal.ts';
import { printable } from '../../lib/text.ts';
import type { FileLoadOutcome, Rejection } from '../../lib/warehouse-requests.ts';
import type { ArchivedFile, CsvTolerance } from '../../lib/wire/csv-file.ts';
import { MAX_FINDINGS, type ScanRule } from '../../lib/wire/csv-scanner.ts';
import type { FileSource } from '../../lib/wire/names.ts';
import type { BrokenRows } from '../csv/find-broken-rows.ts';
import { readFormOf } from '../csv/read-csv.ts';
import { readBounded } from '../csv/read-in-thread.ts';
import type { Session } from '../duckdb/session.ts';
import type { Statements } from '../duckdb/statements.ts';

export interface FileLoad {
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  readonly csvPath: string;
  readonly source: FileSource;
  readonly announcedSha256: string | null;
  readonly encodedSha256?: string | null;
  /** Only for a repeated load: as decided by the first one. */
  readonly isDenied?: boolean;
  readonly isDamaged?: boolean;
  readonly acceptsSpreadsheet?: boolean;
  readonly eventId: string | null;
  readonly workflowRunId: string | null;
  readonly loadId: number;
  readonly version: number | null;
  readonly loadedAt: string;
  /** A rebuild repeats the decision of the first load: neither a later void nor a header refuses the rows. */
  readonly isRepeated: boolean;
  readonly tolerances: readonly CsvTolerance[];
  /** The value of the file's scan; `RECORDS_PER_CUT` by default. */
  readonly recordsPerCut?: number | undefined;
}

export type NewLoad = Omit<FileLoad, 'loadId'>;

/** One transaction in a DuckDB file, two in a lake. */
export interface LoadTransactions {
  ledger<T>(session: Session, work: (ledger: Statements) => Promise<T>): Promise<T>;
  rows<T>(session: Session, work: () => Promise<T>): Promise<T>;
}

export const CRASH_RULE = 'ends-the-process';

/** Rolls the transaction back and carries the outcome out of it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly outcome: FileLoadOutcome;

  constructor(outcome: FileLoadOutcome) {
    super(outcome.outcome);
    this.outcome = outcome;
  }
}

/** With these findings records are still separable, so that all findings of the cells are reported at once. */
const KEEPS_RECORDS_APART: ReadonlySet<string> = new Set<ScanRule>(['field-count', 'nul', 'utf-8']);

/** `invoiceId` null: rows of any invoice are accepted. */
export type Refused = Pick<FileLoad, 'file' | 'csvPath'> & { readonly invoiceId: string | null };

export async function refusedByScan(refused: Refused): Promise<Rejection> {
  const { file, csvPath, invoiceId } = refused;
  const { findings, findingCount } = file.scan;
  const scanned = rejected({ findings, findingCount, neededTolerances: tolerancesFor(refused) });
  const isFull = findingCount >= MAX_FINDINGS;
  if (isFull || !findings.every(({ rule }) => KEEPS_RECORDS_APART.has(rule))) return scanned;
  const read = await readBounded({ csvPath, invoiceId, skipsRagged: true });
  if ('stopped' in read) return scanned;
  const { broken } = read;
  const all = [...findings, ...broken.findings].toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
  return rejected({
    findings: all.slice(0, MAX_FINDINGS),
    findingCount: findingCount + broken.findingCount,
    isCutOff: broken.isCutOff,
  });
}

/**
 * For a file without findings of the scan; without findings if csv-parse finds none.
 * @param why reported if the search for the broken cells is stopped; null: the file may be good
 */
export async function refusedByCells(
  { csvPath, invoiceId }: Omit<Refused, 'file'>,
  why: string | null = null,
): Promise<Rejection> {
  const read = await readBounded({ csvPath, invoiceId, skipsRagged: false });
  if (!('stopped' in read)) return refusedRows(read.broken);
  if (why === null) return rejected({ findings: [], findingCount: 0 });
  return rejectedFor('unexplained', printable(`looking for the place was stopped, ${read.stopped}; ${why}`));
}

export function refusedRows(broken: Omit<BrokenRows, 'records'>): Rejection {
  const hasIdleZeros = broken.findings.some(
    ({ rule, value }) => AMOUNT_RULES.has(rule) && dropIdleZeros(value) !== value,
  );
  return rejected({ ...broken, neededTolerances: hasIdleZeros ? ['decimals'] : [] });
}

const AMOUNT_RULES: ReadonlySet<string> = new Set(['amount', 'weight']);

function tolerancesFor({ file: { scan }, csvPath }: Refused): readonly CsvTolerance[] {
  const rules = new Set(scan.findings.map(({ rule }) => rule));
  if (![...rules].every((rule) => FORM_RULES.has(rule))) return [];
  const lineEnds = rules.has('bare-lf') ? (['line-ends'] as const) : [];
  if (!rules.has('header')) return rules.has('field-count') ? [] : lineEnds;
  const form = readFormOf(csvPath);
  return form === null ? [] : [...lineEnds, ...form.needs];
}

const FORM_RULES: ReadonlySet<string> = new Set<ScanRule>(['header', 'field-count', 'bare-lf']);

export function rejected({
  findings,
  findingCount,
  isCutOff = false,
  neededTolerances = [],
}: Omit<Rejection, 'outcome'>): Rejection {
  return {
    ...{ outcome: 'rejected', findings, findingCount },
    ...(isCutOff ? { isCutOff } : {}),
    ...(neededTolerances.length > 0 ? { neededTolerances } : {}),
  };
}

export function rejectedFor(
  rule: string,
  value: string,
  place: { readonly row?: number; readonly column?: string } = {},
): Rejection {
  const finding = { line: null, row: null, column: null, ...place, rule, value };
  return { outcome: 'rejected', findings: [finding], findingCount: 1 };
}
