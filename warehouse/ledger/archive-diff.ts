/** What a warehouse holds that the archive has to know of, so that the two, or two warehouses, can be compared. */

import type { Fact } from '../../archive/archive.ts';
import type { Ledgers } from '../duckdb/statements.ts';

/** A load, an event, an invoice, or lines that facts of a kind left about one invoice or event. */
export interface HeldRecord {
  readonly kind: 'load' | 'event' | 'invoice' | Exclude<Fact['kind'], 'load' | UntracedKind>;
  /** Load id, event id, or invoice id; ids in lower case, but for those of events that came again. */
  readonly subject: string;
  readonly invoiceId: string | null;
  /** Of a load. */
  readonly sha256: string | null;
  /** Whether totals see it; of a load. */
  readonly isCounted: boolean;
  readonly lines: number;
}

/** How many there are, by `heldRecordKey`. */
export type Counts = ReadonlyMap<string, number>;

/** Of so many records, about, a part is held in memory at once. */
const RECORDS_A_PART = 100_000;

/** What `held` has and `there` has not, part by part, each with the number of lines that lack. */
export async function findLacking(
  { held, there }: { readonly held: Pick<Ledgers, 'all'>; readonly there: Pick<Ledgers, 'all'> },
  recordsAPart = RECORDS_A_PART,
): Promise<readonly HeldRecord[]> {
  const [{ records = 0 } = {}] = await held.all('count-held-records');
  const digits = Math.max(0, Math.ceil(Math.log(Number(records) / recordsAPart) / Math.log(16)));
  const lacking: HeldRecord[] = [];
  for (let part = 0; part < 16 ** digits; part += 1) {
    const prefix = digits === 0 ? '' : part.toString(16).padStart(digits, '0');
    const counts = countsOf(await readHeldRecords(there, prefix));
    lacking.push(...lackingFrom(counts, await readHeldRecords(held, prefix)));
  }
  return lacking;
}

/**
 * Every event, load and decision that the ledgers hold, with the number of its lines.
 *
 * @param prefix in hex: only the part of them whose hashes begin so; a sixteenth with each digit
 */
export async function readHeldRecords(
  ledgers: Pick<Ledgers, 'all'>,
  prefix = '',
): Promise<readonly HeldRecord[]> {
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return (await ledgers.all('held-records', { part: `${prefix}%` })).map((row) => ({
    kind: row.kind as HeldRecord['kind'],
    subject: String(row.subject),
    invoiceId: text(row.invoice_id),
    sha256: text(row.file_sha256),
    isCounted: row.is_counted === true,
    lines: Number(row.lines),
  }));
}

/** Kinds of facts that leave no line in the ledgers. */
const UNTRACED = ['discard', 'purged', 'hold', 'hold-lifted'] as const satisfies readonly Fact['kind'][];
type UntracedKind = (typeof UNTRACED)[number];

/** Whether such a fact changes anything that the ledgers hold; that of a load is written after the load. */
export function changesLedgers({ kind }: Fact): boolean {
  return kind !== 'load' && !(UNTRACED as readonly string[]).includes(kind);
}

/** Equal for the same record in two warehouses. */
export function heldRecordKey({ kind, subject }: Pick<HeldRecord, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`;
}

/** Where a fact shows in a warehouse; null when it does not. */
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

/** What is held and not there, each with the number of lines that lack. */
export function lackingFrom(there: Counts, held: readonly HeldRecord[]): readonly HeldRecord[] {
  return held.flatMap((holding) => {
    const lines = holding.lines - (there.get(heldRecordKey(holding)) ?? 0);
    return lines > 0 ? [{ ...holding, lines }] : [];
  });
}

/** Number of lines by key. */
export function countsOf(heldRecords: readonly HeldRecord[]): Counts {
  return new Map(heldRecords.map((holding) => [heldRecordKey(holding), holding.lines]));
}

/** Facts one by one say little: how many of a kind lack, and of which invoice when it is one. */
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
