/** Takes a CSV that a person exported by hand: the same scan, the same proof, the same load as a downloaded one. */

import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Archive } from '../../archive/archive.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { type ArchivedFile, CSV_HEADERS, readForm } from '../../lib/wire/csv-file.ts';
import type { InvoiceHeader, WebhookStatus } from '../../lib/wire/names.ts';
import type { Quarantine } from '../../lib/wire/quarantine.ts';
import { printable, uuidOrNull } from '../../lib/wire/text.ts';
import { KeyedMutex } from '../duckdb/locks.ts';
import { refusedByCells, refusedByScan } from '../load/file-load.ts';
import { inWaves } from '../load/waves.ts';
import type { CheckOutcome, LoadOutcome, NamedFile, Rejection, Warehouse } from '../warehouse.ts';
import { holdRefused, type RefusedFile, releaseRefused } from './refused-files.ts';
import { type Copy, type CopyBegun, THREAD_FROM_BYTES, takeCopy } from './take-copy.ts';

export interface ImportRequest {
  /** The person's file; it is copied, never moved. */
  readonly path: string;
  /** null: the one that the file's first row names. */
  readonly invoiceId: string | null;
  /** Checks everything and writes nothing. */
  readonly dryRun?: boolean;
  /** Loads a file although a spreadsheet seems to have changed its cells. */
  readonly acceptsSpreadsheet?: boolean;
}

export interface ImportDeps {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  readonly dataDir: string;
  readonly now: () => Date;
  /** Asks the service for header and hash, when one is configured; null: it does not know the invoice. */
  readonly lookUp?: (invoiceId: string) => Promise<Details | null>;
}

interface Details {
  readonly status: WebhookStatus | null;
  readonly header: Partial<InvoiceHeader>;
  /** The hash that the service names for the invoice's file; missing or null: none. */
  readonly hash?: NamedFile | null;
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

/** What is known of a file before it is loaded, or only checked. */
export interface ArchivedCopy extends NamedCopy {
  /** null: the service was not asked, or does not know the invoice. */
  readonly details: Details | null;
}

/**
 * Copies, scans, proves and loads a file (ADR 17); what is refused is an outcome and no error.
 *
 * @returns sizes in bytes, `records` without the header row
 */
export async function importFile(deps: ImportDeps, request: ImportRequest): Promise<Imported> {
  const begun = takeCopy(deps.dataDir, request.path);
  try {
    const copy = await begun.taken;
    return await loadCopy(deps, request, await archiveCopy(deps, request, nameCopy(request, copy)));
  } finally {
    await begun.discard();
  }
}

/** Reads which invoice a file is of, unless the person said. */
export function nameCopy(request: ImportRequest, copy: Copy): NamedCopy {
  const named = request.invoiceId ?? invoiceOf(copy.path);
  return { copy, named, invoiceId: uuidOrNull(named ?? undefined) };
}

/** Asks the service, and puts the file into the archive, unless it is only checked: it is moved away then. */
export async function archiveCopy(
  { lookUp, archive, now }: ImportDeps,
  { path, dryRun = false }: ImportRequest,
  named: NamedCopy,
): Promise<ArchivedCopy> {
  const { copy, invoiceId } = named;
  if (invoiceId === null) return { ...named, details: null };
  const details = (await lookUp?.(invoiceId)) ?? null;
  if (dryRun) return { ...named, details };
  await archive.putFile(copy.path, copy.file);
  const { sha256, sizeBytes } = copy.file;
  const at = now().toISOString();
  await archive.putFact({
    kind: 'file',
    at,
    invoiceId,
    sha256,
    sizeBytes,
    source: 'file',
    from: basename(path),
  });
  return { ...named, details };
}

export async function loadCopy(
  deps: ImportDeps,
  { dryRun = false, acceptsSpreadsheet = false }: ImportRequest,
  { copy: { path, file }, invoiceId, named, details }: ArchivedCopy,
): Promise<Imported> {
  const { warehouse } = deps;
  const { sha256, sizeBytes, scan } = file;
  const told = { invoiceId, sha256, sizeBytes, records: scan.records };
  if (invoiceId === null) return { ...told, outcome: await refusedUnnamed(file, path, named) };
  if (dryRun)
    return {
      ...told,
      outcome: await warehouse.check({ invoiceId, file, csvPath: path, details, acceptsSpreadsheet }),
    };
  const hash = details?.hash ?? null;
  if (hash !== null) await warehouse.recordHash({ invoiceId, ...hash });
  if (details === null) await warehouse.ingestArchive();
  else {
    const { status, header } = details;
    await warehouse.recordDetails({ invoiceId, status, header });
  }
  const outcome = await warehouse.load({
    ...{ invoiceId, sha256, source: 'file', announcedSha256: hash?.sha256 === sha256 ? sha256 : null },
    ...{ eventId: null, workflowRunId: null, acceptsSpreadsheet },
  });
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

/** Of a file that is looked at for the invoice it names; a first row that goes on behind it names none. */
const FIRST_ROW_BYTES = 256 << 10;

/** The Invoice ID of the first row, whatever else is wrong with the file; null when there is none to read. */
export function invoiceOf(csvPath: string): string | null {
  try {
    const [header, first] = parse(readHead(csvPath), {
      bom: true,
      to: 2,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    }) as readonly (readonly string[])[];
    const place = CSV_HEADERS.indexOf('Invoice ID');
    return first?.[readForm(header ?? [])?.places[place] ?? place] ?? null;
  } catch {
    // Unreadable is what the scan says better.
    return null;
  }
}

function readHead(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(FIRST_ROW_BYTES, fstatSync(file).size));
    return buffer.subarray(0, readSync(file, buffer));
  } finally {
    closeSync(file);
  }
}

/** Every finding in a file that names no invoice. */
async function refusedUnnamed(file: ArchivedFile, csvPath: string, named: string | null): Promise<Rejection> {
  const refused = { file, csvPath, invoiceId: null };
  const found = await (file.scan.findingCount > 0 ? refusedByScan(refused) : refusedByCells(refused));
  if (found.findingCount > 0) return found;
  const value = `'${printable(named ?? '')}' names no invoice`;
  const finding = { line: null, row: null, column: 'Invoice ID', rule: 'invoice-id', value };
  return { outcome: 'rejected', findings: [finding], findingCount: 1 };
}

/*  * Takes many files that a person exported: all that wait together are archived, told of and loaded together, since the
 * archive shares its flushes and the warehouse its transactions among those who come at once.
 *
 * Files of one invoice are loaded in the order in which they are named: of two that nothing else announces the last one counts.
 */

export interface ImportManyDeps extends ImportDeps {
  /** Files done, refused ones too. */
  readonly onDone?: (done: number) => void;
}

/** Large files that are read at once, each by a thread of its own. */
const LARGE_AT_ONCE = 2;
/** Questions to the service. */
const LOOK_UPS_AT_ONCE = 8;

/**
 * @param begun the first file's copy, when it was begun before there was a warehouse; discarded here
 * @returns in the order of the requests
 * @throws what went wrong first; what is at work by then is done before
 */
export async function importFiles(
  asked: ImportManyDeps,
  requests: readonly ImportRequest[],
  begun?: CopyBegun,
): Promise<readonly Imported[]> {
  const deps = askingInTurn(asked);
  const [invoices, largeInTurn] = [new KeyedMutex(), createSemaphore(LARGE_AT_ONCE)];
  const results: Imported[] = [];
  const copies: (CopyBegun | undefined)[] = [begun];
  const copyOf = (index: number, path: string): Promise<Copy> => {
    const copy = copies[index] ?? takeCopy(deps.dataDir, path);
    copies[index] = copy;
    return copy.taken;
  };
  const discard = async (index: number): Promise<void> => {
    await copies[index]?.discard();
    delete copies[index];
  };
  let done = 0;
  try {
    await inWaves(requests.entries(), {
      sizeOf: ([, { path }]) => sizeOf(path),
      async prepare([index, request]) {
        const read = (): Promise<Copy> => copyOf(index, request.path);
        const copy = await (sizeOf(request.path) < THREAD_FROM_BYTES ? read() : largeInTurn(read));
        return archiveCopy(deps, request, nameCopy(request, copy));
      },
      async finish([index, request], archived) {
        const key = archived.invoiceId ?? request.path;
        results[index] = await invoices.run(key, () => loadCopy(deps, request, archived));
        await discard(index);
        done += 1;
        deps.onDone?.(done);
      },
    });
  } finally {
    for (const index of copies.keys()) await discard(index);
  }
  return results;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Has each file imported elsewhere, so many at once, and those of an invoice one after the other. */
export async function inOrderOfInvoices<T>(
  requests: readonly ImportRequest[],
  atOnce: number,
  ask: (request: ImportRequest) => Promise<T>,
): Promise<readonly T[]> {
  const keys = requests.map(({ invoiceId, path }) => invoiceId ?? invoiceOf(path) ?? path);
  const [inTurn, invoices] = [createSemaphore(atOnce), new KeyedMutex()];
  return Promise.all(
    requests.map((request, index) =>
      inTurn(() => invoices.run((keys[index] ?? '').toLowerCase(), () => ask(request))),
    ),
  );
}

function askingInTurn(deps: ImportManyDeps): ImportManyDeps {
  const { lookUp } = deps;
  if (lookUp === undefined) return deps;
  const inTurn = createSemaphore(LOOK_UPS_AT_ONCE);
  return { ...deps, lookUp: (invoiceId) => inTurn(() => lookUp(invoiceId)) };
}
