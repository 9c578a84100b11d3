/** Checks a file like a load, and writes nothing: a dry run. */

import {
  type CsvTolerance,
  hasAllColumns,
  isHeaderOnly,
  isOfOtherForm,
  isSpecified,
} from '../../lib/wire/csv-file.ts';
import type { CheckOutcome } from '../../lib/wire/warehouse-requests.ts';
import type { Read, Reading } from '../csv/read-csv.ts';
import { limitsBySize, readBounded } from '../csv/read-in-thread.ts';
import type { Ledgers, Row } from '../duckdb/statements.ts';
import { WarehouseError } from '../errors.ts';
import { deriveInvoice } from '../ledger/derive-invoice.ts';
import type { AttentionLine, Evidence, InvoiceLines } from '../ledger/invoice-lines.ts';
import { readInvoiceLines } from '../ledger/invoice-states.ts';
import { factLines } from '../ledger/ledger-lines.ts';
import type { FileToCheck } from '../warehouse.ts';
import { checkRows } from './check-rows.ts';
import { knownLoads, loadedRows } from './commit-load.ts';
import { type FileLoad, Refusal, refusedByScan, refusedRows } from './file-load.ts';

export interface CheckContext {
  readonly ledgers: Ledgers;
  /** Accepted besides the specified form. */
  readonly tolerances: readonly CsvTolerance[];
}

/** @throws misread csv-parse counts other records than the byte scan, or was stopped */
export async function checkFile(
  { ledgers, tolerances }: CheckContext,
  request: FileToCheck,
): Promise<CheckOutcome> {
  const { invoiceId, file, csvPath } = request;
  const lines = await readLines(ledgers, request);
  if (typeof deriveInvoice(lines)?.row.voided_at === 'string') return { outcome: 'voided' };
  const [known = null] = await knownLoads(ledgers, [{ invoiceId, sha256: file.sha256 }]);
  if (known !== null) return known;
  if (isHeaderOnly(file.scan)) return checkTotals(request, [], lines);
  if (isSpecified(file.scan)) {
    const { broken, totals } = await readWhole({ csvPath, invoiceId, skipsRagged: false }, request);
    if (broken.findingCount === 0) return checkTotals(request, totals, lines);
    const refused = refusedRows(broken);
    if (refused.neededTolerances?.includes('decimals') !== true || tolerances.length === 0) return refused;
  } else if (!isOfOtherForm(file.scan) || (tolerances.length === 0 && hasAllColumns(file.scan))) {
    return refusedByScan({ file, csvPath, invoiceId });
  }
  const tolerate = { tolerances, folder: null };
  const { scan, broken, totals } = await readWhole(
    { csvPath, invoiceId, skipsRagged: false, tolerate },
    request,
  );
  if (scan === null) return refusedByScan({ file, csvPath, invoiceId });
  if (broken.findingCount > 0) return refusedRows(broken);
  return checkTotals({ ...request, file: { ...file, scan } }, totals, lines);
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

/** The lines of the ledgers, and the details as if they had been recorded. */
async function readLines(ledgers: Ledgers, { invoiceId, details, at }: FileToCheck): Promise<InvoiceLines> {
  const found = await ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId]));
  const lines = found.get(invoiceId) ?? { evidence: [], loads: [], attention: [] };
  if (details === null) return lines;
  const { hash = null, ...answered } = details;
  const named = hash === null ? [] : [{ kind: 'hash-answered', at, invoiceId, ...hash } as const];
  const added = factLines([{ kind: 'details', at, invoiceId, ...answered }, ...named]);
  const empty = {
    ...{ stamp: at, event_id: null, event_type: null, partner_id: null },
    ...{ announced_sha256: null, announced_size_bytes: null },
  };
  const evidence = added.details.map((line) => ({ ...line, ...empty }) as unknown as Evidence);
  const attention = added.attention as unknown as readonly AttentionLine[];
  return {
    ...lines,
    evidence: [...lines.evidence, ...evidence],
    attention: [...lines.attention, ...attention],
  };
}
