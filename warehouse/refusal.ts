/** Why a file is not loaded, told whole: what the byte scan found, and what is wrong in the cells. */

import { MAX_FINDINGS, type ScanRule } from '../contract/csv-scanner.js';
import type { FileLoad } from './file-load.js';
import { findBrokenRows } from './find-broken-rows.js';
import type { FileLoadOutcome, Rejection } from './warehouse.js';

/** Faults that leave the records apart: what else is wrong in them can be said at once, not after the next new file. */
const LEAVES_RECORDS_APART: ReadonlySet<string> = new Set<ScanRule>([
  'field-count',
  'nul',
  'utf-8',
  'record-too-big',
]);

/** A file, and whose rows it should hold; null: any invoice's. */
export type Refused = Pick<FileLoad, 'file' | 'csvPath'> & { readonly invoiceId: string | null };

export async function refusedByScan({ file: { scan }, csvPath, invoiceId }: Refused): Promise<Rejection> {
  const { findings, findingCount } = scan;
  if (!findings.every(({ rule }) => LEAVES_RECORDS_APART.has(rule))) {
    return { outcome: 'rejected', findings, findingCount };
  }
  const cells = await findBrokenRows(csvPath, invoiceId, { skipsRagged: true });
  const all = [...findings, ...cells.findings].toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
  return {
    outcome: 'rejected',
    findings: all.slice(0, MAX_FINDINGS),
    findingCount: findingCount + cells.findingCount,
  };
}

/** For a file that the scan let pass; without findings when csv-parse has nothing to object to. */
export async function refusedByCells(load: Omit<Refused, 'file'>): Promise<Rejection> {
  const { findings, findingCount } = await findBrokenRows(load.csvPath, load.invoiceId);
  return { outcome: 'rejected', findings, findingCount };
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
export function isRowError(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(?:Invalid Input|Conversion|Constraint|Out of Range|Not implemented) Error/.test(error.message)
  );
}
