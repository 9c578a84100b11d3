import type { Fact } from '../../archive/archive.ts';
import { camelCase, type Ledgers } from '../duckdb/statements.ts';

export interface StoredRecord {
  readonly kind: 'load' | 'event' | 'invoice' | Exclude<Fact['kind'], 'load' | UntracedKind>;
  /** The invoice id and file of a load, an event id, or an invoice id; in lower case, except event ids of duplicates. */
  readonly subject: string;
  readonly loadId: number | null;
  readonly invoiceId: string | null;
  readonly sha256: string | null;
  readonly isCounted: boolean;
  readonly lines: number;
}

export type Counts = ReadonlyMap<string, number>;

export async function readStoredRecords(ledgers: Pick<Ledgers, 'all'>): Promise<readonly StoredRecord[]> {
  return (await ledgers.all('stored-records')).map((row) => camelCase<StoredRecord>(row));
}

const UNTRACED = ['discard', 'purged', 'hold', 'hold-lifted'] as const satisfies readonly Fact['kind'][];
type UntracedKind = (typeof UNTRACED)[number];

function isTraced(fact: Fact): fact is Exclude<Fact, { readonly kind: UntracedKind }> {
  return !(UNTRACED as readonly string[]).includes(fact.kind);
}

/** The fact of a load is written after the load and changes nothing. */
export function changesLedgers(fact: Fact): boolean {
  return fact.kind !== 'load' && isTraced(fact);
}

export function storedRecordKey({ kind, subject }: Pick<StoredRecord, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`;
}

/** Returns null for a fact of which the ledgers have no record. */
export function storedRecordOfFact(fact: Fact): string | null {
  if (!isTraced(fact)) return null;
  const { kind } = fact;
  if (kind === 'load') return storedRecordKey({ kind, subject: contentOf(fact) });
  if (kind === 'duplicate') return storedRecordKey({ kind, subject: fact.eventId });
  return storedRecordKey({ kind, subject: fact.invoiceId.toLowerCase() });
}

/** A file is loaded once for an invoice. Load ids may be given twice when PostgreSQL loses commits. */
export function contentOf({
  invoiceId,
  sha256,
}: {
  readonly invoiceId: string;
  readonly sha256: string;
}): string {
  return `${invoiceId.toLowerCase()} ${sha256}`;
}

export function lackingFrom(counts: Counts, stored: readonly StoredRecord[]): readonly StoredRecord[] {
  return stored.flatMap((record) => {
    const lines = record.lines - (counts.get(storedRecordKey(record)) ?? 0);
    return lines > 0 ? [{ ...record, lines }] : [];
  });
}

export function countsOf(records: readonly StoredRecord[]): Counts {
  return new Map(records.map((record) => [storedRecordKey(record), record.lines]));
}

/** Names the invoice id only when all facts of the kind are about one invoice. */
export function lackingFacts(
  lacking: readonly StoredRecord[],
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
