/** Takes a CSV that a person exported by hand: the same scan, the same proof, the same load as a downloaded one. */

import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'csv-parse';
import type { Archive } from '../../archive/archive.js';
import { CSV_HEADERS } from '../../contract/columns.js';
import type { ArchivedFile } from '../../contract/csv-file.js';
import type { InvoiceHeader } from '../../contract/invoice-event.js';
import type { WebhookStatus } from '../../contract/names.js';
import { printable } from '../../contract/printable.js';
import type { Quarantine } from '../../contract/quarantine.js';
import { uuidOrNull } from '../../contract/uuid-or-null.js';
import { readFormOf } from '../csv/read-form.js';
import { refusedByCells, refusedByScan } from '../load/refusal.js';
import type { CheckOutcome, LoadOutcome, Rejection, Warehouse } from '../warehouse.js';
import { holdRefused, type RefusedFile, releaseRefused } from './refused-files.js';
import { type Copy, takeCopy } from './take-copy.js';

export interface ImportRequest {
  /** The person's file; it is copied, never moved. */
  readonly path: string;
  /** null: the one that the file's first row names. */
  readonly invoiceId: string | null;
  /** Checks everything and writes nothing. */
  readonly dryRun?: boolean;
}

export interface ImportDeps {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  readonly dataDir: string;
  readonly now: () => Date;
  /** Asks the service for the header, when one is configured; null: it does not know the invoice. */
  readonly lookUp?: (invoiceId: string) => Promise<{
    readonly status: WebhookStatus | null;
    readonly header: Partial<InvoiceHeader>;
  } | null>;
}

export interface Imported {
  /** null when neither the person nor the file names one. */
  readonly invoiceId: string | null;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly records: number;
  readonly outcome: CheckOutcome;
}

/** A copy that was read, and whose file it is. */
export interface NamedCopy {
  readonly copy: Copy;
  /** In lower case; null when neither the person nor the file names one. */
  readonly invoiceId: string | null;
  /** What was read where an invoice should be named. */
  readonly named: string | null;
}

export async function importFile(deps: ImportDeps, request: ImportRequest): Promise<Imported> {
  const begun = takeCopy(deps.dataDir, request.path);
  try {
    return await importCopy(deps, request, await nameCopy(request, await begun.taken));
  } finally {
    await begun.discard();
  }
}

/** Reads which invoice a file is of, unless the person said. */
export async function nameCopy(request: ImportRequest, copy: Copy): Promise<NamedCopy> {
  const named = request.invoiceId ?? (await invoiceOf(copy.path));
  return { copy, named, invoiceId: uuidOrNull(named ?? undefined) };
}

/** What is archived of it is moved away; the caller discards the rest. */
export async function importCopy(
  deps: ImportDeps,
  request: ImportRequest,
  { copy: { path, file }, invoiceId, named }: NamedCopy,
): Promise<Imported> {
  const { sha256, sizeBytes, scan } = file;
  const told = { invoiceId, sha256, sizeBytes, records: scan.records };
  if (invoiceId === null) return { ...told, outcome: await refusedUnnamed(file, path, named) };
  const details = (await deps.lookUp?.(invoiceId)) ?? null;
  if (request.dryRun === true) {
    return { ...told, outcome: await deps.warehouse.judge({ invoiceId, file, csvPath: path, details }) };
  }
  if (details !== null) await deps.warehouse.recordDetails({ invoiceId, ...details });
  const outcome = await archiveAndLoad(deps, { copy: path, invoiceId, from: basename(request.path) }, file);
  await holdOrRelease(deps, { invoiceId, sha256, sizeBytes, eventId: null }, outcome);
  return { ...told, outcome };
}

async function holdOrRelease(
  { quarantine, now }: ImportDeps,
  refused: RefusedFile,
  outcome: LoadOutcome,
): Promise<void> {
  if (outcome.outcome === 'rejected') {
    await holdRefused(quarantine, refused, { ...outcome, at: now().toISOString() });
  } else if ('shipments' in outcome) {
    await releaseRefused(quarantine, refused.invoiceId);
  }
}

async function archiveAndLoad(
  { warehouse, archive, now }: ImportDeps,
  { copy, invoiceId, from }: { readonly copy: string; readonly invoiceId: string; readonly from: string },
  file: ArchivedFile,
): Promise<LoadOutcome> {
  await archive.putFile(copy, file);
  const { sha256, sizeBytes } = file;
  await archive.putFact({
    kind: 'file',
    at: now().toISOString(),
    invoiceId,
    sha256,
    sizeBytes,
    source: 'file',
    from,
  });
  await warehouse.ingestArchive();
  return warehouse.load({
    invoiceId,
    sha256,
    source: 'file',
    announcedSha256: null,
    eventId: null,
    workflowRunId: null,
  });
}

/** Of a file that is looked at for the invoice it names; a first row that goes on behind it names none. */
const FIRST_ROW_BYTES = 256 << 10;

/** The Invoice ID of the first row, whatever else is wrong with the file; null when there is none to read. */
export async function invoiceOf(csvPath: string): Promise<string | null> {
  const input = createReadStream(csvPath, { end: FIRST_ROW_BYTES - 1 });
  const parser = input.pipe(
    parse({
      bom: true,
      from: 2,
      to: 2,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    }),
  );
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      const place = CSV_HEADERS.indexOf('Invoice ID');
      return record[readFormOf(csvPath)?.places[place] ?? place] ?? null;
    }
    return null;
  } catch {
    // Unreadable is what the scan says better.
    return null;
  } finally {
    input.destroy();
  }
}

/** All that is wrong with a file whose invoice nobody can tell. */
async function refusedUnnamed(file: ArchivedFile, csvPath: string, named: string | null): Promise<Rejection> {
  const refused = { file, csvPath, invoiceId: null };
  const found = await (file.scan.findingCount > 0 ? refusedByScan(refused) : refusedByCells(refused));
  if (found.findingCount > 0) return found;
  const value = `'${printable(named ?? '')}' names no invoice`;
  const finding = { line: null, row: null, column: 'Invoice ID', rule: 'invoice-id', value };
  return { outcome: 'rejected', findings: [finding], findingCount: 1 };
}
