/** Compares the records of a warehouse with those of the archive, or of another warehouse. */

import type { Fact } from '../../archive/archive.ts';
import type { Ledgers } from '../duckdb/statements.ts';

/** A load, an event, an invoice, or the lines of one kind of fact about one invoice or event. */
export interface HeldRecord {
  readonly kind: 'load' | 'event' | 'invoice' | Exclude<Fact['kind'], 'load' | UntracedKind>;
  /** Load id, event id, or invoice id; in lower case, except event ids of duplicates. */
  readonly subject: string;
  readonly invoiceId: string | null;
  /** Only for a load. */
  readonly sha256: string | null;
  /** Whether the load is part of totals. */
  readonly isCounted: boolean;
  readonly lines: number;
}

/** Number of lines by `heldRecordKey`. */
export type Counts = ReadonlyMap<string, number>;

export async function readHeldRecords(ledgers: Pick<Ledgers, 'all'>): Promise<readonly HeldRecord[]> {
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return (await ledgers.all('held-records')).map((row) => ({
    kind: row.kind as HeldRecord['kind'],
    subject: String(row.subject),
    invoiceId: text(row.invoice_id),
    sha256: text(row.file_sha256),
    isCounted: row.is_counted === true,
    lines: Number(row.lines),
  }));
}

/** Facts without a line in the ledgers. */
const UNTRACED = ['discard', 'purged', 'hold', 'hold-lifted'] as const satisfies readonly Fact['kind'][];
type UntracedKind = (typeof UNTRACED)[number];

/** The fact of a load is written after the load and changes nothing. */
export function changesLedgers({ kind }: Fact): boolean {
  return kind !== 'load' && !(UNTRACED as readonly string[]).includes(kind);
}

export function heldRecordKey({ kind, subject }: Pick<HeldRecord, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`;
}

/** The key of the record that a fact makes; null: it makes none. */
export function heldRecordOfFact(fact: Fact): string | null {
  switch (fact.kind) {
    case 'discard':
    case 'purged':
    case 'hold':
    case 'hold-lifted':
      return null;
    case 'load':
      return heldRecordKey({ kind: 'load', subject: `${fact.loadId}` });
    case 'duplicate':
      return heldRecordKey({ kind: 'duplicate', subject: fact.eventId });
    default:
      return heldRecordKey({ kind: fact.kind, subject: fact.invoiceId.toLowerCase() });
  }
}

/** The records of `held` that exceed `counts`, each with the number of missing lines. */
export function lackingFrom(counts: Counts, held: readonly HeldRecord[]): readonly HeldRecord[] {
  return held.flatMap((record) => {
    const lines = record.lines - (counts.get(heldRecordKey(record)) ?? 0);
    return lines > 0 ? [{ ...record, lines }] : [];
  });
}

export function countsOf(records: readonly HeldRecord[]): Counts {
  return new Map(records.map((record) => [heldRecordKey(record), record.lines]));
}

/** Missing facts by kind; the invoice id only if all are about one invoice. */
export function lackingFacts(
  lacking: readonly HeldRecord[],
): readonly { readonly kind: string; readonly invoiceId: string | null; readonly lines: number }[] {
  const groups = new Map<string, { kind: string; invoiceId: string | null; lines: number }>();
  for (const { kind, invoiceId, lines } of lacking) {
    if (kind === 'load' || kind === 'invoice' || kind === 'event') continue;
    const group = groups.get(kind);
    if (group === undefined) groups.set(kind, { kind, invoiceId, lines });
    else groups.set(kind, { kind, invoiceId: null, lines: group.lines + lines });
  }
  return [...groups.values()];
}
