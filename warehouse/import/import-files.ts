/** Files that are imported at the same time share the flushes of the archive and the transactions of the warehouse. */

import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Archive } from '../../archive/archive.ts';
import type { Quarantine } from '../../lib/quarantine.ts';
import { createSemaphore, forEachBounded } from '../../lib/semaphore.ts';
import { printable, uuidOrNull } from '../../lib/text.ts';
import type { Imported, ImportRequest, Rejection } from '../../lib/warehouse-requests.ts';
import { type ArchivedFile, CSV_HEADERS, readForm } from '../../lib/wire/csv-file.ts';
import { readHead } from '../csv/read-csv.ts';
import { KeyedMutex } from '../duckdb/locks.ts';
import type { FileToCheck } from '../load/dry-run.ts';
import { refusedByCells, refusedByScan, rejectedFor } from '../load/rejections.ts';
import type { Warehouse } from '../warehouse.ts';
import { holdRefused, releaseRefused } from './refused-files.ts';
import { type Copy, type CopyBegun, THREAD_FROM_BYTES, takeCopy } from './take-copy.ts';

export interface ImportDeps {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  readonly dataDir: string;
  readonly now: () => Date;
  /**
   * Asks the service for an invoice's details; undefined when no service is configured. It returns null when the service does not
   * know the invoice.
   */
  readonly lookUp?: (invoiceId: string) => Promise<FileToCheck['details']>;
  readonly onDone?: (done: number) => void;
}

const FILES_AT_ONCE = 200;
const LARGE_FILES_AT_ONCE = 2;
const LOOK_UPS_AT_ONCE = 8;

/** A refused file is an outcome, not an error. @param copy is discarded here */
export async function importFile(
  deps: ImportDeps,
  request: ImportRequest,
  copy: CopyBegun = takeCopy(deps.dataDir, request.path),
): Promise<Imported> {
  try {
    return await importCopy(deps, request, await copy.taken);
  } finally {
    await copy.discard();
  }
}

/**
 * Files of one invoice are loaded in the order of the requests. @param begun the copy of the first file; discarded here
 * @throws the first error, when the imports in progress have ended
 */
export async function importFiles(
  { onDone, lookUp, ...rest }: ImportDeps,
  requests: readonly ImportRequest[],
  begun?: CopyBegun,
): Promise<readonly Imported[]> {
  const lookUpInTurn = createSemaphore(LOOK_UPS_AT_ONCE);
  const deps =
    lookUp === undefined ? rest : { ...rest, lookUp: (id: string) => lookUpInTurn(() => lookUp(id)) };
  const largeInTurn = createSemaphore(LARGE_FILES_AT_ONCE);
  const results: Imported[] = [];
  let done = 0;
  try {
    await inInvoiceOrder(requests, FILES_AT_ONCE, async (request, index) => {
      const work = () => importFile(deps, request, index === 0 ? begun : undefined);
      const size = statSync(request.path, { throwIfNoEntry: false })?.size ?? 0;
      results[index] = await (size < THREAD_FROM_BYTES ? work() : largeInTurn(work));
      done += 1;
      onDone?.(done);
    });
  } finally {
    await begun?.discard();
  }
  return results;
}

export function inInvoiceOrder(
  requests: readonly ImportRequest[],
  atOnce: number,
  work: (request: ImportRequest, index: number) => Promise<void>,
): Promise<void> {
  const invoices = new KeyedMutex();
  return forEachBounded(requests, atOnce, (request, index) => {
    const key = request.invoiceId ?? readInvoiceId(request.path) ?? request.path;
    return invoices.run(key.toLowerCase(), () => work(request, index));
  });
}

async function importCopy(
  { warehouse, archive, quarantine, now, lookUp }: ImportDeps,
  { path: from, dryRun = false, acceptsSpreadsheet = false, invoiceId: requested }: ImportRequest,
  { path: csvPath, file }: Copy,
): Promise<Imported> {
  const stated = requested ?? readInvoiceId(csvPath);
  const invoiceId = uuidOrNull(stated ?? undefined);
  const { sha256, sizeBytes, scan } = file;
  const imported = { invoiceId, sha256, sizeBytes, records: scan.records };
  if (invoiceId === null) return { ...imported, outcome: await refuseUnnamed(file, csvPath, stated) };
  const details = (await lookUp?.(invoiceId)) ?? null;
  if (dryRun) {
    const outcome = await warehouse.check({ invoiceId, file, csvPath, details, acceptsSpreadsheet });
    return { ...imported, outcome };
  }
  await archive.putFile(csvPath, file);
  const at = now().toISOString();
  const origin = { source: 'file', from: basename(from) } as const;
  await archive.putFact({ kind: 'file', at, invoiceId, sha256, sizeBytes, ...origin });
  const hash = details?.hash ?? null;
  if (hash !== null) await warehouse.recordHash({ invoiceId, ...hash });
  if (details === null) await warehouse.ingestArchive();
  else {
    const { status, header, partnerId = null } = details;
    await warehouse.recordDetails({ invoiceId, status, partnerId, header });
  }
  const outcome = await warehouse.load({
    ...{ invoiceId, sha256, source: 'file', announcedSha256: hash?.sha256 === sha256 ? sha256 : null },
    ...{ eventId: null, workflowRunId: null, acceptsSpreadsheet },
  });
  if (outcome.outcome === 'rejected') {
    const refused = { invoiceId, sha256, sizeBytes, eventId: null };
    await holdRefused(quarantine, refused, { ...outcome, at: now().toISOString() });
  } else if ('shipments' in outcome) {
    await releaseRefused(quarantine, invoiceId);
  }
  return { ...imported, outcome };
}

const FIRST_ROW_BYTES = 256 << 10;

/** Reads the invoice id even if the file breaks rules; null when it cannot be read. */
function readInvoiceId(csvPath: string): string | null {
  try {
    const [header, first] = parse(readHead(csvPath, FIRST_ROW_BYTES).head, {
      bom: true,
      to: 2,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    }) as readonly (readonly string[])[];
    const place = CSV_HEADERS.indexOf('Invoice ID');
    return first?.[readForm(header ?? [])?.places[place] ?? place] ?? null;
  } catch {
    // The byte scan reports an unreadable file with its line.
    return null;
  }
}

/** Refuses a file without an invoice id; other findings are reported first, since the missing id may come from them. */
async function refuseUnnamed(file: ArchivedFile, csvPath: string, stated: string | null): Promise<Rejection> {
  const refused = { file, csvPath, invoiceId: null };
  const found = await (file.scan.findingCount > 0 ? refusedByScan(refused) : refusedByCells(refused));
  if (found.findingCount > 0) return found;
  const value = `'${printable(stated ?? '')}' names no invoice`;
  return rejectedFor('invoice-id', value, { column: 'Invoice ID' });
}
