/** A dry run: checks a file like a load, and writes nothing. */

import type { CheckOutcome } from '../../lib/warehouse-requests.ts';
import type { ArchivedFile, CsvTolerance } from '../../lib/wire/csv-file.ts';
import type { InvoiceHeader } from '../../lib/wire/invoice-event.ts';
import type { WebhookStatus } from '../../lib/wire/names.ts';
import type { Database } from '../duckdb/database.ts';
import type { Ledgers, Row } from '../duckdb/statements.ts';
import { deriveInvoice } from '../ledger/derive-invoice.ts';
import type { AttentionLine, Evidence, InvoiceLines } from '../ledger/invoice-lines.ts';
import { readInvoiceLines } from '../ledger/invoice-states.ts';
import { factLines } from '../ledger/ledger-lines.ts';

import { checkRows } from './accept-rows.ts';
import { knownLoads, loadedRows } from './commit-load.ts';
import { stageFile } from './load-files.ts';
import type { FileLoad } from './rejections.ts';

export interface NamedFile {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export interface FileToCheck {
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  readonly csvPath: string;
  /** The service's current response; null: there was no request, or the invoice is unknown. */
  readonly details: {
    readonly status: WebhookStatus | null;
    readonly header: Partial<InvoiceHeader>;
    readonly partnerId?: string | null;
    readonly hash?: NamedFile | null;
  } | null;
  readonly acceptsSpreadsheet?: boolean;
  readonly at: string;
}

export interface CheckContext {
  readonly rows: Database;
  readonly ledgers: Ledgers;
  readonly tolerances: readonly CsvTolerance[];
}

export async function checkFile(
  { rows, ledgers, tolerances }: CheckContext,
  request: FileToCheck,
): Promise<CheckOutcome> {
  const { invoiceId, file, csvPath, at: loadedAt, acceptsSpreadsheet = false } = request;
  const lines = await readLines(ledgers, request);
  if (typeof deriveInvoice(lines)?.row.voided_at === 'string') return { outcome: 'voided' };
  const [known = null] = await knownLoads(ledgers, [{ invoiceId, sha256: file.sha256 }]);
  if (known !== null) return known;
  const load: FileLoad = {
    ...{ invoiceId, file, csvPath, acceptsSpreadsheet, tolerances, loadedAt },
    ...{ source: 'file', announcedSha256: null, eventId: null, workflowRunId: null },
    ...{ loadId: 0, version: null, isRepeated: false },
  };
  return stageFile(rows, load, (of, totals) => checkTotals(of, totals, lines));
}

function checkTotals(load: FileLoad, totals: readonly Row[], lines: InvoiceLines): CheckOutcome {
  const line = checkRows(load, totals, lines);
  const after = { ...lines, loads: [...lines.loads, line] };
  const { loadId: _load, version: _version, ...rows } = loadedRows(line, deriveInvoice(after), after);
  return { outcome: 'checked', ...rows };
}

async function readLines(ledgers: Ledgers, { invoiceId, details, at }: FileToCheck): Promise<InvoiceLines> {
  const found = await ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId]));
  const lines = found.get(invoiceId) ?? { evidence: [], loads: [], attention: [] };
  if (details === null) return lines;
  const { hash = null, ...answered } = details;
  const named = hash === null ? [] : [{ kind: 'hash-answered', at, invoiceId, ...hash } as const];
  const added = factLines([{ kind: 'details', at, invoiceId, ...answered }, ...named]);
  const empty = {
    ...{ event_time: at, entry: Number.MAX_SAFE_INTEGER, event_id: null, event_type: null },
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
