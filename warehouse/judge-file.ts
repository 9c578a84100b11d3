/** What loading a file would come to, said without writing anything: the answer of a dry run. */

import { type ArchivedFile, isHeaderOnly } from '../contract/csv-file.js';
import type { InvoiceHeader } from '../contract/invoice-event.js';
import type { WebhookStatus } from '../contract/names.js';
import { judgeRows, loadedRows } from './commit-load.js';
import { deriveInvoice, type Evidence, type InvoiceLines } from './derive-invoice.js';
import { MisreadError } from './errors.js';
import type { FileLoad } from './file-load.js';
import { readInvoiceLines } from './invoice-states.js';
import { knownLoad } from './known-load.js';
import { factLines } from './ledger-lines.js';
import { readBounded } from './read-in-thread.js';
import { Refusal, refusedByScan } from './refusal.js';
import type { Ledgers, Row } from './statements.js';
import type { JudgedOutcome } from './warehouse.js';

export interface FileToJudge {
  /** In lower case. */
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  /** Of the file on this machine; it need not lie in the archive. */
  readonly csvPath: string;
  /** What the service says of the invoice and the ledgers may not have heard; null: it was not asked, or knows none. */
  readonly details: {
    readonly status: WebhookStatus | null;
    readonly header: Partial<InvoiceHeader>;
  } | null;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** @throws MisreadError when csv-parse counts other records than the byte scan, or does not come to an end */
export async function judgeFile(ledgers: Ledgers, asked: FileToJudge): Promise<JudgedOutcome> {
  const { invoiceId, file, csvPath } = asked;
  const lines = await linesOf(ledgers, asked);
  if (deriveInvoice(lines)?.row.state === 'voided') return { outcome: 'voided' };
  const known = await knownLoad(ledgers, { invoiceId, sha256: file.sha256 });
  if (known !== null) return known;
  if (isHeaderOnly(file.scan)) return judgeTotals(asked, [], lines);
  if (file.scan.findingCount > 0) return refusedByScan({ file, csvPath, invoiceId });
  const read = await readBounded({ csvPath, invoiceId, skipsRagged: false }, judgingLimits(file.sizeBytes));
  if ('stopped' in read) throw new MisreadError(invoiceId, `judging it was stopped, ${read.stopped}`);
  const { findings, findingCount, isCutOff } = read.broken;
  if (findingCount > 0) {
    return { outcome: 'rejected', findings, findingCount, ...(isCutOff ? { isCutOff } : {}) };
  }
  return judgeTotals(asked, read.totals, lines);
}

/** A person asked for it and waits: a good file is read to its end, however large it is. */
function judgingLimits(sizeBytes: number): { readonly timeMs: number } {
  return { timeMs: 60_000 + Math.ceil(sizeBytes / BYTES_A_MS_AT_LEAST) };
}

/** csv-parse reads twenty times as many. */
const BYTES_A_MS_AT_LEAST = 1_000;

function judgeTotals(
  { invoiceId, file, csvPath, at }: FileToJudge,
  totals: readonly Row[],
  lines: InvoiceLines,
): JudgedOutcome {
  const load: FileLoad = {
    ...{ invoiceId, file, csvPath, announcedSha256: null, eventId: null, workflowRunId: null },
    ...{ source: 'file', loadId: 0, version: null, loadedAt: at, isRepeated: false },
  };
  try {
    const line = judgeRows(load, totals, lines);
    const derived = deriveInvoice({ ...lines, loads: [...lines.loads, line] });
    const { loadId: _, version: _none, ...rows } = loadedRows(line, derived ?? undefined);
    return { outcome: 'checked', ...rows };
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    throw error;
  }
}

/** What the ledgers say, and the details as if they had been recorded. */
async function linesOf(ledgers: Ledgers, { invoiceId, details, at }: FileToJudge): Promise<InvoiceLines> {
  const found = await ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId]));
  const lines = found.get(invoiceId) ?? { evidence: [], loads: [], attention: [] };
  if (details === null) return lines;
  const [told] = factLines([{ kind: 'details', at, invoiceId, ...details }]).details;
  const unsaid = {
    ...{ stamp: at, event_id: null, event_type: null, partner_id: null },
    ...{ announced_sha256: null, announced_size_bytes: null },
  };
  return { ...lines, evidence: [...lines.evidence, { ...told, ...unsaid } as unknown as Evidence] };
}
