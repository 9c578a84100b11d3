/** Why a file is not loaded, told whole: what the byte scan found, and what is wrong in the cells. */

import { MAX_FINDINGS, type ScanRule } from '../contract/csv-scanner.js';
import { printable } from '../contract/printable.js';
import type { FileLoad } from './file-load.js';
import { readBounded } from './read-in-thread.js';
import type { FileLoadOutcome, Rejection } from './warehouse.js';

/**
 * Faults that leave the records apart: what else is wrong in them can be said at once, not after the next new file.
 * A record that is too big for a reader is given to none.
 */
const LEAVES_RECORDS_APART: ReadonlySet<string> = new Set<ScanRule>(['field-count', 'nul', 'utf-8']);

/** A file, and whose rows it should hold; null: any invoice's. */
export type Refused = Pick<FileLoad, 'file' | 'csvPath'> & { readonly invoiceId: string | null };

export async function refusedByScan({ file: { scan }, csvPath, invoiceId }: Refused): Promise<Rejection> {
  const { findings, findingCount } = scan;
  const told: Rejection = { outcome: 'rejected', findings, findingCount };
  const isToldWhole = findingCount >= MAX_FINDINGS;
  if (isToldWhole || !findings.every(({ rule }) => LEAVES_RECORDS_APART.has(rule))) return told;
  const read = await readBounded({ csvPath, invoiceId, skipsRagged: true });
  if ('stopped' in read) return told;
  const { broken } = read;
  const all = [...findings, ...broken.findings].toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
  return {
    outcome: 'rejected',
    findings: all.slice(0, MAX_FINDINGS),
    findingCount: findingCount + broken.findingCount,
    ...(broken.isCutOff ? { isCutOff: true } : {}),
  };
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
  if (!('stopped' in read)) {
    const { findings, findingCount, isCutOff } = read.broken;
    return { outcome: 'rejected', findings, findingCount, ...(isCutOff ? { isCutOff } : {}) };
  }
  if (why === null) return { outcome: 'rejected', findings: [], findingCount: 0 };
  const value = printable(`looking for the place was stopped, ${read.stopped}; ${why}`);
  const finding = { line: null, row: null, column: null, rule: 'unexplained', value };
  return { outcome: 'rejected', findings: [finding], findingCount: 1 };
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

/** What DuckDB says when a row does not fit or its reader gave up; disk, memory and damage are not the file's fault. */
export function isRowError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(?:Invalid Input|Conversion|Constraint|Out of Range|Not implemented) Error/.test(error.message)
  );
}
