import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import { CsvScanner } from '../lib/wire/csv-scanner.ts';
import type { InvoiceEvent, InvoiceHeader } from '../lib/wire/invoice-event.ts';
import { describeIssues, mayBeIllFormed, wellFormedInside } from '../lib/wire/json.ts';
import type { FileSource, WebhookStatus } from '../lib/wire/names.ts';

export type DeliveryVerdict = 'accepted' | 'test' | 'quarantined';

export interface ArchivedEvent {
  readonly eventId: string;
  readonly receivedAt: string;
  readonly verdict: DeliveryVerdict;
  /** The code of the reason for which the delivery was quarantined; null for any other delivery. */
  readonly reason: string | null;
  /** The event without its URL's query; null when the delivery could not be parsed that far. */
  readonly event: InvoiceEvent | null;
  /** True when our partner was not known as the event came, so that it may be for another partner. */
  readonly isUnchecked?: boolean;
  /** JSON text as received, the presigned URL without query; empty when `trimmed`. */
  readonly envelope: string;
  readonly trimmed?: { readonly at: string; readonly sha256: string; readonly sizeBytes: number };
}

export interface UnreadableRecord {
  readonly where: string;
  /** `why` names fields, never their values. */
  readonly why: string;
}

/** Called for each damaged record that is skipped, but not for a line torn by a crash, which was never confirmed. */
export type OnUnreadable = (record: UnreadableRecord) => void;

export const BY_PRECEDENCE: readonly DeliveryVerdict[] = ['accepted', 'quarantined', 'test'];

/** Names are in lower case, because file systems may ignore case. @throws RangeError an id that cannot name a file */
export function eventName(eventId: string): string {
  const name = eventId.toLowerCase();
  if (!isEventName(name)) throw new RangeError('An event id that cannot name a file.');
  return name;
}

export function isEventName(name: string): boolean {
  return /^[0-9a-z][0-9a-z._-]{0,127}$/.test(name);
}

export function eventPath(eventId: string, verdict: DeliveryVerdict): string {
  const name = eventName(eventId);
  return `${name.slice(0, 2)}/${name}${verdict === 'accepted' ? '' : `.${verdict}`}.json`;
}

/** Returns null when there is no record, or a damaged one. @param folder the folder of the path that `onUnreadable` is told */
export async function findEvent(
  eventId: string,
  folder: string,
  read: (path: string) => Promise<Uint8Array | null>,
  onUnreadable: OnUnreadable = () => undefined,
): Promise<ArchivedEvent | null> {
  for (const verdict of BY_PRECEDENCE) {
    const path = eventPath(eventId, verdict);
    const bytes = await read(path);
    if (bytes === null) continue;
    const reading = parseRecord<ArchivedEvent>(() => Event, bytes);
    if (reading.ok && eventName(reading.value.eventId) === eventName(eventId)) return reading.value;
    const why = reading.ok ? 'another event than its name says' : reading.why;
    onUnreadable({ where: `${folder}/${path}`, why });
    return null;
  }
  return null;
}

export function trimmedEvent(event: ArchivedEvent, at: string): ArchivedEvent | null {
  if (event.trimmed !== undefined || event.envelope === '') return null;
  const body = Buffer.from(event.envelope);
  const sha256 = createHash('sha256').update(body).digest('hex');
  return { ...event, envelope: '', trimmed: { at, sha256, sizeBytes: body.length } };
}

export function arrivalKey({ receivedAt, eventId }: Pick<ArchivedEvent, 'receivedAt' | 'eventId'>): string {
  return `${receivedAt}~${eventId}`;
}

export async function* inOrderOfInstants(
  written: AsyncIterable<{ readonly fact: Fact }>,
): AsyncGenerator<Fact> {
  const facts = await Array.fromAsync(written, ({ fact }) => fact);
  yield* facts.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

export async function describeFile(path: string): Promise<ArchivedFile> {
  const [hash, scanner] = [createHash('sha256'), new CsvScanner()];
  let sizeBytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: BLOCK_BYTES }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    scanner.push(chunk);
    sizeBytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), sizeBytes, scan: scanner.end() };
}

const BLOCK_BYTES = 1 << 20;

export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  if ((await stat(path)).size <= BLOCK_BYTES) return hash.update(await readFile(path)).digest('hex');
  await pipeline(createReadStream(path, { highWaterMark: BLOCK_BYTES }), hash);
  return hash.digest('hex');
}

export function csvPath(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new RangeError('A SHA-256 is 64 lower-case hex digits.');
  return `${sha256.slice(0, 2)}/${sha256}.csv`;
}

export function scanPath(sha256: string): string {
  return csvPath(sha256).replace(/\.csv$/, '.json');
}

/** A record with unknown fields, or without some that are not its id, is not damaged. `why` names fields, never values. */
type RecordReading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string };

export function readFact(bytes: Uint8Array | string): RecordReading<Fact> {
  return parseRecord<Fact>(schemaOfFact, bytes);
}

export function readDescription(bytes: Uint8Array | string): RecordReading<ArchivedFile> {
  return parseRecord<ArchivedFile>(() => Description, bytes);
}

const Text = z.string().nullable();
const LenientText = z.string().nullish();
const Instant = z.iso.datetime();
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256');
const Guid = z.guid();
const Whole = z.int().nonnegative();
const Number32 = z.int().positive().max(0x7f_ff_ff_ff);
/** The newest version of the invoice that the ledger had: a fact with this version is later than it, whatever their clocks say. */
const afterVersion = Whole.optional();
const Cells = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

const Event = z.looseObject({
  eventId: z.string().regex(/^[0-9a-z][0-9a-z._-]{0,127}$/i, 'expected an id'),
  receivedAt: Instant,
  verdict: z.enum(BY_PRECEDENCE),
  reason: LenientText,
  envelope: z.string(),
  trimmed: z.looseObject({ at: Instant, sha256: Sha256, sizeBytes: Whole }).optional(),
  event: z
    .looseObject({
      eventId: z.string(),
      eventType: LenientText,
      eventTimestamp: LenientText,
      partnerId: LenientText,
      isTestEvent: z.boolean().nullish(),
      invoice: Cells.and(z.looseObject({ invoiceId: z.string() })),
      export: Cells.nullish(),
    })
    .nullable(),
});

const Source = z.string() as unknown as z.ZodType<FileSource>;

const FACTS = {
  duplicate: z.object({ at: Instant, eventId: z.string() }),
  file: z.object({
    at: Instant,
    invoiceId: z.string(),
    sha256: z.string(),
    sizeBytes: Whole,
    source: Source,
    /** Where the file came from: the URL without its query, the base name of an imported file, null for export-csv. */
    from: Text,
  }),
  load: z.object({
    at: Instant,
    invoiceId: Guid,
    sha256: Sha256,
    source: Source,
    announcedSha256: Text,
    /** The announced hash, when it is the hash of the encoded bytes. */
    encodedSha256: Text.optional(),
    /** True when the service had named another hash; the file counts only if a person chooses it. */
    isDenied: z.boolean().optional(),
    /** True when a spreadsheet seems to have changed the file's cells, and the person accepted that. */
    isDamaged: z.boolean().optional(),
    version: Number32,
    loadId: Number32,
    /** The number and the exact decimal sum of the shipments, which `verify` compares. */
    shipments: Whole.optional(),
    billingCost: z.string().optional(),
    eventId: Text.optional(),
    workflowRunId: Text.optional(),
  }),
  details: z.object({
    at: Instant,
    invoiceId: z.string(),
    status: Text as z.ZodType<WebhookStatus | null>,
    unknownStatus: Text.optional(),
    /** The partner for which the service was asked; null when the token names none, or several. */
    partnerId: Text.optional(),
    header: Cells as z.ZodType<Partial<InvoiceHeader>>,
  }),
  attention: z.object({
    ...{ at: Instant, invoiceId: z.string(), afterVersion },
    ...{ code: z.string(), reason: z.string() },
  }),
  resolved: z.object({ at: Instant, invoiceId: z.string(), afterVersion }),
  failure: z.object({
    ...{ at: Instant, invoiceId: z.string(), afterVersion },
    ...{ code: z.string(), reason: z.string() },
  }),
  recovered: z.object({ at: Instant, invoiceId: z.string(), afterVersion }),
  /** `by` is the operating system's name of the user who restored the invoice. */
  restored: z.object({
    ...{ at: Instant, invoiceId: z.string(), afterVersion },
    ...{ by: z.string(), reason: z.string() },
    /** The ids of the void events that the decision answers; every other void counts. */
    voids: z.array(z.string()),
  }),
  'version-chosen': z.object({
    ...{ at: Instant, invoiceId: z.string(), afterVersion },
    ...{ by: z.string(), reason: z.string() },
    sha256: Sha256,
    version: Number32,
    /** The hashes that the service had named: naming them again changes nothing, while another one undoes the choice. */
    overruled: z.array(z.string()),
  }),
  /** The decision takes the invoice out of every total, until `included` or `restored`. */
  excluded: z.object({
    ...{ at: Instant, invoiceId: z.string(), afterVersion },
    code: z.enum(['unknown-invoice', 'foreign-partner']),
    reason: z.string(),
  }),
  included: z.object({ at: Instant, invoiceId: z.string(), afterVersion }),
  'hash-answered': z.object({
    ...{ at: Instant, invoiceId: z.string(), afterVersion },
    ...{ sha256: Sha256, sizeBytes: Whole },
  }),
  discard: z.object({ at: Instant, quarantineId: z.string(), note: z.string() }),
  /** The fact is written before a file is removed for its age (ADR 20). The file may be archived again. */
  purged: z.object({
    at: Instant,
    invoiceId: z.string(),
    sha256: Sha256,
    sizeBytes: Whole,
    by: z.string(),
    reason: z.string(),
  }),
  /** `subject` is a tenant id (the service's or the partner's) or an invoice id; it is empty for `all`. */
  hold: z.object({
    at: Instant,
    holdId: z.string(),
    scope: z.enum(['all', 'tenant', 'invoice']),
    subject: z.string(),
    by: z.string(),
    reason: z.string(),
  }),
  'hold-lifted': z.object({ at: Instant, holdId: z.string(), by: z.string(), reason: z.string() }),
};
type FactKind = keyof typeof FACTS;

/** A record of something that no event reports. `at` is ISO 8601 UTC. */
export type Fact = {
  [Kind in FactKind]: { readonly kind: Kind } & Readonly<z.infer<(typeof FACTS)[Kind]>>;
}[FactKind];

const KINDS = Object.keys(FACTS) as FactKind[];
const KnownKind = z.looseObject({ kind: z.enum(KINDS) });

const Description = z.looseObject({
  sha256: Sha256,
  sizeBytes: Whole,
  scan: z.looseObject({
    records: Whole,
    findings: z.array(
      z.looseObject({
        line: Whole.nullable(),
        row: Whole.nullable(),
        column: z.string().nullable(),
        rule: z.string(),
        value: z.string(),
      }),
    ),
    findingCount: Whole,
    endsWithLineEnd: z.boolean(),
    cuts: z.array(Whole),
  }),
});

function schemaOfFact(json: unknown): z.ZodType {
  const known = KnownKind.safeParse(json);
  return known.success ? FACTS[known.data.kind] : KnownKind;
}

function parseRecord<T>(
  schemaOf: (json: unknown) => z.ZodType,
  bytes: Uint8Array | string,
): RecordReading<T> {
  const value = parsed(bytes);
  if (typeof value === 'string') return { ok: false, why: value };
  const checked = schemaOf(value.json).safeParse(value.json);
  if (!checked.success) return { ok: false, why: describeIssues(checked.error, '', value.json) };
  return { ok: true, value: value.json as T };
}

function parsed(bytes: Uint8Array | string): { readonly json: unknown } | string {
  let text: string;
  try {
    text = typeof bytes === 'string' ? bytes : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return 'not UTF-8';
  }
  try {
    const json: unknown = JSON.parse(text);
    // Unpaired surrogates are replaced, because one would fail every SQL statement that the record is part of.
    return { json: mayBeIllFormed(text) ? wellFormedInside(json) : json };
  } catch (error) {
    // A RangeError means that the JSON is nested too deeply.
    if (error instanceof SyntaxError || error instanceof RangeError) return 'not JSON';
    throw error;
  }
}
