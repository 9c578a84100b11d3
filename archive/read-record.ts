/**
 * Reads what the archive keeps as JSON, in every kind of archive: an event, a fact, the description of a file.
 *
 * A disk damages what lies on it, and a person's hand does too. Whoever reads many of them tells what cannot be read and
 * goes on with the others, so each is checked here down to the types that those behind rely on. What a later version adds,
 * or leaves out beside the id, is no damage.
 */

import { z } from 'zod';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import { describeIssues, mayBeIllFormed, wellFormedInside } from '../lib/wire/json.ts';

import type { ArchivedEvent, Fact } from './archive.ts';
import { BY_PRECEDENCE } from './event-name.ts';

export type RecordReading<T> =
  | { readonly ok: true; readonly value: T }
  /** `why` names fields, never values. */
  | { readonly ok: false; readonly why: string };

/** An event as `events/` keeps it, from its JSON. */
export function readEvent(bytes: Uint8Array | string): RecordReading<ArchivedEvent> {
  return read<ArchivedEvent>(() => Event, bytes);
}

/** A fact as `facts/` keeps it, from a line of JSON. */
export function readFact(bytes: Uint8Array | string): RecordReading<Fact> {
  return read<Fact>(schemaOfFact, bytes);
}

/** What lies beside a file: its hash, size in bytes and scan, from its JSON. */
export function readDescription(bytes: Uint8Array | string): RecordReading<ArchivedFile> {
  return read<ArchivedFile>(() => Description, bytes);
}

const Text = z.string().nullish();
const Instant = z.iso.datetime();
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256');
const Guid = z.guid();
const Whole = z.int().nonnegative();
/** As many as the warehouse's column takes. */
const Number32 = z.int().positive().max(0x7f_ff_ff_ff);
/** The service's fields under our names: nothing in them has parts. */
const Cells = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

const Event = z.looseObject({
  eventId: z.string().regex(/^[0-9a-z][0-9a-z._-]{0,127}$/i, 'expected an id'),
  receivedAt: Instant,
  verdict: z.enum(BY_PRECEDENCE),
  reason: Text,
  envelope: z.string(),
  trimmed: z.looseObject({ at: Instant, sha256: Sha256, sizeBytes: Whole }).optional(),
  event: z
    .looseObject({
      eventId: z.string(),
      eventType: Text,
      eventTimestamp: Text,
      partnerId: Text,
      isTestEvent: z.boolean().nullish(),
      invoice: Cells.and(z.looseObject({ invoiceId: z.string() })),
      export: Cells.nullish(),
    })
    .nullable(),
});

/** Each kind once; the type ensures that none is missing. */
const FACTS = {
  duplicate: z.looseObject({ at: Instant, eventId: z.string() }),
  file: z.looseObject({
    at: Instant,
    invoiceId: z.string(),
    sha256: z.string(),
    sizeBytes: Whole,
    source: z.string(),
    from: Text,
  }),
  load: z.looseObject({
    at: Instant,
    invoiceId: Guid,
    sha256: Sha256,
    source: z.string(),
    announcedSha256: Text,
    encodedSha256: Text,
    isDenied: z.boolean().optional(),
    isDamaged: z.boolean().optional(),
    version: Number32,
    loadId: Number32,
    shipments: Whole.optional(),
    billingCost: z.string().optional(),
    eventId: Text,
    workflowRunId: Text,
  }),
  details: z.looseObject({ at: Instant, invoiceId: z.string(), status: Text, header: Cells }),
  attention: z.looseObject({ at: Instant, invoiceId: z.string(), code: z.string(), reason: z.string() }),
  resolved: z.looseObject({ at: Instant, invoiceId: z.string() }),
  failure: z.looseObject({ at: Instant, invoiceId: z.string(), code: z.string(), reason: z.string() }),
  recovered: z.looseObject({ at: Instant, invoiceId: z.string() }),
  restored: z.looseObject({ at: Instant, invoiceId: z.string(), by: z.string(), reason: z.string() }),
  'version-chosen': z.looseObject({
    at: Instant,
    invoiceId: z.string(),
    sha256: Sha256,
    version: Number32,
    countsFrom: Instant,
    by: z.string(),
    reason: z.string(),
  }),
  'hash-asked': z.looseObject({ at: Instant, invoiceId: z.string(), sha256: Sha256, sizeBytes: Whole }),
  discard: z.looseObject({ at: Instant, quarantineId: z.string(), note: z.string() }),
  purged: z.looseObject({
    at: Instant,
    invoiceId: z.string(),
    sha256: Sha256,
    sizeBytes: Whole,
    by: z.string(),
    reason: z.string(),
  }),
  hold: z.looseObject({
    at: Instant,
    holdId: z.string(),
    scope: z.enum(['all', 'tenant', 'invoice']),
    subject: z.string(),
    by: z.string(),
    reason: z.string(),
  }),
  'hold-lifted': z.looseObject({ at: Instant, holdId: z.string(), by: z.string(), reason: z.string() }),
} satisfies Readonly<Record<Fact['kind'], z.ZodType>>;
const KINDS = Object.keys(FACTS) as Fact['kind'][];
const KnownKind = z.looseObject({ kind: z.enum(KINDS) });

const Description = z.looseObject({
  sha256: Sha256,
  sizeBytes: Whole,
  scan: z.looseObject({
    records: Whole,
    longestRecordBytes: Whole,
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

/** Returns the parsed value itself, unknown fields included: the schema only checks it. */
function read<T>(schemaOf: (json: unknown) => z.ZodType, bytes: Uint8Array | string): RecordReading<T> {
  const value = parsed(bytes);
  if (typeof value === 'string') return { ok: false, why: value };
  const checked = schemaOf(value.json).safeParse(value.json);
  if (!checked.success) return { ok: false, why: describeIssues(checked.error, '', value.json) };
  return { ok: true, value: value.json as T };
}

/** The reason given for a record that is not JSON. */
function parsed(bytes: Uint8Array | string): { readonly json: unknown } | string {
  let text: string;
  try {
    text = typeof bytes === 'string' ? bytes : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return 'not UTF-8';
  }
  try {
    const json: unknown = JSON.parse(text);
    // Half of a surrogate pair, as an edit by hand can leave it, would stop every SQL statement that the record is part of.
    return { json: mayBeIllFormed(text) ? wellFormedInside(json) : json };
  } catch (error) {
    // A RangeError says that it is nested deeper than we can follow.
    if (error instanceof SyntaxError || error instanceof RangeError) return 'not JSON';
    throw error;
  }
}
