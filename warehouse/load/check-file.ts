/** What loading a file would come to, said without writing anything: the answer of a dry run. */

import {
  type CsvTolerance,
  hasAllColumns,
  isHeaderOnly,
  isOfOtherForm,
  isSpecified,
} from '../../lib/wire/csv-file.ts';
import type { Read, Reading } from '../csv/read-csv.ts';
import { limitsBySize, readBounded } from '../csv/read-in-thread.ts';
import type { Ledgers, Row } from '../duckdb/statements.ts';
import { WarehouseError } from '../errors.ts';
import { deriveInvoice } from '../ledger/derive-invoice.ts';
import type { AttentionLine, Evidence, InvoiceLines } from '../ledger/invoice-lines.ts';
import { readInvoiceLines } from '../ledger/invoice-states.ts';
import { factLines } from '../ledger/ledger-lines.ts';
import type { CheckOutcome, FileToCheck } from '../warehouse.ts';
import { checkRows } from './check-rows.ts';
import { knownLoad, loadedRows } from './commit-load.ts';
import { type FileLoad, Refusal, refusedByScan, refusedRows } from './file-load.ts';

export interface CheckPlaces {
  readonly ledgers: Ledgers;
  /** What the partner accepts besides the specified form. */
  readonly tolerances: readonly CsvTolerance[];
}

/** @throws misread when csv-parse counts other records than the byte scan, or does not come to an end */
export async function checkFile(
  { ledgers, tolerances }: CheckPlaces,
  asked: FileToCheck,
): Promise<CheckOutcome> {
  const { invoiceId, file, csvPath } = asked;
  const lines = await linesOf(ledgers, asked);
  if (typeof deriveInvoice(lines)?.row.voided_at === 'string') return { outcome: 'voided' };
  const known = await knownLoad(ledgers, { invoiceId, sha256: file.sha256 });
  if (known !== null) return known;
  if (isHeaderOnly(file.scan)) return checkTotals(asked, [], lines);
  if (isSpecified(file.scan)) {
    const { broken, totals } = await readWhole({ csvPath, invoiceId, skipsRagged: false }, asked);
    if (broken.findingCount === 0) return checkTotals(asked, totals, lines);
    const refused = refusedRows(broken);
    if (refused.wants?.includes('decimals') !== true || tolerances.length === 0) return refused;
  } else if (!isOfOtherForm(file.scan) || (tolerances.length === 0 && hasAllColumns(file.scan))) {
    return refusedByScan({ file, csvPath, invoiceId });
  }
  const tolerate = { tolerances, folder: null };
  const { scan, broken, totals } = await readWhole(
    { csvPath, invoiceId, skipsRagged: false, tolerate },
    asked,
  );
  if (scan === null) return refusedByScan({ file, csvPath, invoiceId });
  if (broken.findingCount > 0) return refusedRows(broken);
  return checkTotals({ ...asked, file: { ...file, scan } }, totals, lines);
}

async function readWhole(reading: Reading, { invoiceId, file }: FileToCheck): Promise<Read> {
  const read = await readBounded(reading, limitsBySize(file.sizeBytes));
  if ('stopped' in read)
    throw new WarehouseError('misread', [invoiceId, `checking it was stopped, ${read.stopped}`]);
  return read;
}

function checkTotals(
  { invoiceId, file, csvPath, at, acceptsSpreadsheet = false }: FileToCheck,
  totals: readonly Row[],
  lines: InvoiceLines,
): CheckOutcome {
  const load: FileLoad = {
    ...{ invoiceId, file, csvPath, announcedSha256: null, eventId: null, workflowRunId: null },
    ...{
      source: 'file',
      loadId: 0,
      version: null,
      loadedAt: at,
      isRepeated: false,
      tolerances: [],
      acceptsSpreadsheet,
    },
  };
  try {
    const line = checkRows(load, totals, lines);
    const after = { ...lines, loads: [...lines.loads, line] };
    const { loadId: _, version: _none, ...rows } = loadedRows(line, deriveInvoice(after), after);
    return { outcome: 'checked', ...rows };
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    throw error;
  }
}

/** What the ledgers say, and the details as if they had been recorded. */
async function linesOf(ledgers: Ledgers, { invoiceId, details, at }: FileToCheck): Promise<InvoiceLines> {
  const found = await ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId]));
  const lines = found.get(invoiceId) ?? { evidence: [], loads: [], attention: [] };
  if (details === null) return lines;
  const { hash = null, ...answered } = details;
  const named = hash === null ? [] : [{ kind: 'hash-asked', at, invoiceId, ...hash } as const];
  const told = factLines([{ kind: 'details', at, invoiceId, ...answered }, ...named]);
  const unsaid = {
    ...{ stamp: at, event_id: null, event_type: null, partner_id: null },
    ...{ announced_sha256: null, announced_size_bytes: null },
  };
  const evidence = told.details.map((line) => ({ ...line, ...unsaid }) as unknown as Evidence);
  const attention = told.attention as unknown as readonly AttentionLine[];
  return {
    ...lines,
    evidence: [...lines.evidence, ...evidence],
    attention: [...lines.attention, ...attention],
  };
}
