/** Which version of an invoice counts, and what is open about it since. */

import type { OutrankedBy } from '../warehouse.ts';
import { VOID_CONTRADICTED } from './derive-status.ts';
import { type AttentionLine, compare, type InvoiceLines, type LoadLine, latest } from './invoice-lines.ts';

/** How strongly a file is proven. Count and sum of the header rank like nothing: a load that contradicts them is refused. */
type Strength =
  /** Nobody named its hash. */
  | 0
  /** The service named its hash when it was asked for the file (spec 4.3). */
  | 1
  /** An event announced its hash, or a person chose the file. */
  | 2;

interface Ranked {
  readonly load: LoadLine;
  readonly strength: Strength;
  /** The file is as new as this instant. */
  readonly since: string;
  /** A person brought it although the service had named another hash: it counts only if a person chooses it. */
  readonly isDenied: boolean;
}

/**
 * The version with the strongest proof, and of these the newest, so that a weaker file never replaces a stronger one. A
 * choice of a person is as strong as an announcement, so that only a file announced after it takes its place. The macro
 * `current_loads_as_known_on` gives the same answer for any instant of the past.
 */
export function currentLoad(lines: InvoiceLines): LoadLine | null {
  const ranked = lines.loads.map((load) => rank(load, lines)).filter(({ isDenied }) => !isDenied);
  return (
    ranked.reduce<Ranked | null>((best, of) => (best === null || isBefore(best, of) ? of : best), null)
      ?.load ?? null
  );
}

function isBefore(best: Ranked, other: Ranked): boolean {
  const order =
    other.strength - best.strength ||
    compare(other.since, best.since) ||
    other.load.load_id - best.load.load_id;
  return order > 0;
}

function rank(load: LoadLine, { evidence, attention }: Omit<InvoiceLines, 'loads'>): Ranked {
  const { file_sha256: sha256, encoded_sha256: encoded, loaded_at } = load;
  const isNamed = (hash: string | null): boolean => hash !== null && (hash === sha256 || hash === encoded);
  const announced = evidence.filter((line) => isNamed(line.announced_sha256)).map((line) => line.event_time);
  const chosen = attention.flatMap(({ kind, file_sha256, counts_from }) =>
    kind === 'version' && file_sha256 === sha256 && counts_from !== null ? [counts_from] : [],
  );
  if (announced.length + chosen.length > 0) {
    return { load, strength: 2, since: latest([...announced, ...chosen]) ?? loaded_at, isDenied: false };
  }
  const asked = attention
    .filter(({ kind, file_sha256 }) => kind === 'hash' && isNamed(file_sha256))
    .map(({ recorded_at }) => recorded_at);
  const since = latest([loaded_at, ...asked]) ?? loaded_at;
  if (asked.length > 0 || load.announced_sha256 === sha256)
    return { load, strength: 1, since, isDenied: false };
  return { load, strength: 0, since, isDenied: load.is_denied };
}

/** Whether the service named the file's hash, or a person chose the file. */
export function isNamed(load: LoadLine, lines: InvoiceLines): boolean {
  return rank(load, lines).strength > 0;
}

/** Whether the service has named another file than this one, which a person brings: it then counts only if a person chooses it. */
export function isDenied(load: LoadLine, lines: InvoiceLines): boolean {
  return load.file_source === 'file' && !isNamed(load, lines) && namedHash(lines) !== null;
}

/**
 * The hash that the service named last for the invoice's file: the newest announced one, else the newest it answered
 * with. null: none.
 */
export function namedHash({ evidence, loads, attention }: InvoiceLines): NamedHash | null {
  const announced = evidence.flatMap((line) => {
    const { announced_sha256: sha256, announced_size_bytes: sizeBytes, event_id: eventId } = line;
    return sha256 === null
      ? []
      : [{ sha256, sizeBytes, eventId, at: line.event_time, recordedAt: line.recorded_at }];
  });
  if (announced.length > 0) return newest(announced);
  const unannounced = { sizeBytes: null, eventId: null };
  return newest([
    ...loads.flatMap(({ announced_sha256, encoded_sha256, loaded_at: at }) => {
      const sha256 = encoded_sha256 ?? announced_sha256;
      return sha256 === null ? [] : [{ sha256, ...unannounced, at, recordedAt: at }];
    }),
    ...attention.flatMap(({ kind, file_sha256: sha256, recorded_at: at }) =>
      kind !== 'hash' || sha256 === null ? [] : [{ sha256, ...unannounced, at, recordedAt: at }],
    ),
  ]);
}

export interface NamedHash {
  readonly sha256: string;
  /** null: it was not announced. */
  readonly sizeBytes: number | null;
  readonly eventId: string | null;
  readonly at: string;
  readonly recordedAt: string;
}

function newest(named: readonly NamedHash[]): NamedHash | null {
  const key = ({ at, eventId }: NamedHash): string => at + (eventId ?? '');
  return named.reduce<NamedHash | null>(
    (best, of) => (best === null || compare(key(of), key(best)) > 0 ? of : best),
    null,
  );
}

/**
 * Why a version does not count although it was loaded; null: it counts, or no person chose the one that counts and its proof
 * is as strong as that one's.
 */
export function outrankedBy(
  load: LoadLine,
  current: LoadLine | null,
  lines: InvoiceLines,
): OutrankedBy | null {
  if (current?.load_id === load.load_id) return null;
  const [own, of] = [rank(load, lines), current === null ? null : rank(current, lines)];
  if (of === null || current === null) {
    const named = namedHash(lines);
    return named === null
      ? null
      : { version: null, sha256: named.sha256, proof: named.eventId === null ? 'asked' : 'announced' };
  }
  const { version, file_sha256: sha256 } = current;
  if (lines.attention.some(({ kind, file_sha256 }) => kind === 'version' && file_sha256 === sha256)) {
    return { version, sha256, proof: 'chosen' };
  }
  if (!own.isDenied && own.strength >= of.strength) return null;
  return { version, sha256, proof: PROOFS[of.strength] };
}

const PROOFS = ['none', 'asked', 'announced'] as const;

/** A load that came after ends the need for a person as well as an answer does; a denied void is no matter of loads. */
export function openAttention(
  attention: readonly AttentionLine[],
  current: LoadLine | null,
): AttentionLine | null {
  const personal = attention.filter(({ kind, code }) => kind === null && code !== VOID_CONTRADICTED);
  return lastOpenLine(personal, current);
}

/** What goes wrong while work goes on, unless it went well since. What is said of a void is said while it stands. */
export function openFailure(
  attention: readonly AttentionLine[],
  current: LoadLine | null,
): AttentionLine | null {
  return lastOpenLine(
    attention.filter(({ kind }) => kind === 'failure'),
    current,
  );
}

function lastOpenLine(lines: readonly AttentionLine[], current: LoadLine | null): AttentionLine | null {
  const ends = [
    current?.loaded_at ?? '',
    latest(lines.filter((line) => !line.is_open).map((line) => line.recorded_at)) ?? '',
  ];
  const open = lines
    .filter((line) => line.is_open && ends.every((end) => line.recorded_at > end))
    .toSorted((a, b) => compare(b.recorded_at + (b.code ?? ''), a.recorded_at + (a.code ?? '')));
  return open[0] ?? null;
}
