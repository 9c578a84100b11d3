import type { Fact } from '../../archive/archive.ts';
import { camelCase, type Ledgers } from '../duckdb/statements.ts';

export interface HeldRecord {
  readonly kind: 'load' | 'event' | 'invoice' | Exclude<Fact['kind'], 'load' | UntracedKind>;
  /** Invoice id and file of a load, event id, or invoice id; in lower case, except event ids of duplicates. */
  readonly subject: string;
  readonly loadId: number | null;
  readonly invoiceId: string | null;
  readonly sha256: string | null;
  readonly isCounted: boolean;
  readonly lines: number;
}

export type Counts = ReadonlyMap<string, number>;

export async function readHeldRecords(ledgers: Pick<Ledgers, 'all'>): Promise<readonly HeldRecord[]> {
  return (await ledgers.all('held-records')).map((row) => camelCase<HeldRecord>(row));
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

export function heldRecordKey({ kind, subject }: Pick<HeldRecord, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`;
}

/** null: the fact makes no record. */
export function heldRecordOfFact(fact: Fact): string | null {
  if (!isTraced(fact)) return null;
  const { kind } = fact;
  if (kind === 'load') return heldRecordKey({ kind, subject: contentOf(fact) });
  if (kind === 'duplicate') return heldRecordKey({ kind, subject: fact.eventId });
  return heldRecordKey({ kind, subject: fact.invoiceId.toLowerCase() });
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

export function lackingFrom(counts: Counts, held: readonly HeldRecord[]): readonly HeldRecord[] {
  return held.flatMap((record) => {
    const lines = record.lines - (counts.get(heldRecordKey(record)) ?? 0);
    return lines > 0 ? [{ ...record, lines }] : [];
  });
}

export function countsOf(records: readonly HeldRecord[]): Counts {
  return new Map(records.map((record) => [heldRecordKey(record), record.lines]));
}

/** The invoice id only if all facts of the kind are about one invoice. */
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
