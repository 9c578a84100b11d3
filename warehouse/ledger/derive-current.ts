import type { OutrankedBy } from '../../lib/wire/warehouse-requests.ts';
import { compare, type InvoiceLines, type LoadLine, latest } from './invoice-lines.ts';

/** The header's count and sum prove nothing more: a load that contradicts them is refused. */
type Strength =
  /** The service never named its hash. */
  | 0
  /** The service named its hash in a response (spec 4.3). */
  | 1
  /** An event announced its hash, or an operator chose the file. */
  | 2;

interface Ranked {
  readonly load: LoadLine;
  readonly strength: Strength;
  readonly since: string;
  /** Imported although the service had named another hash: it counts only if an operator chooses it. */
  readonly isDenied: boolean;
}

/**
 * A choice of an operator is as strong as an announcement, so that only a file announced later replaces it. The macro
 * `current_loads_as_known_on` has the same rule for a past instant.
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
  const named = attention
    .filter(({ kind, file_sha256 }) => kind === 'hash' && isNamed(file_sha256))
    .map(({ recorded_at }) => recorded_at);
  const since = latest([loaded_at, ...named]) ?? loaded_at;
  if (named.length > 0 || load.announced_sha256 === sha256)
    return { load, strength: 1, since, isDenied: false };
  return { load, strength: 0, since, isDenied: load.is_denied };
}

export function isNamed(load: LoadLine, lines: InvoiceLines): boolean {
  return rank(load, lines).strength > 0;
}

export function isDenied(load: LoadLine, lines: InvoiceLines): boolean {
  return load.file_source === 'file' && !isNamed(load, lines) && namedHash(lines) !== null;
}

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

/** null: the version counts, or its proof is as strong as that of the one that counts, which no operator chose. */
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
      : { version: null, sha256: named.sha256, proof: named.eventId === null ? 'named' : 'announced' };
  }
  const { version, file_sha256: sha256 } = current;
  if (lines.attention.some(({ kind, file_sha256 }) => kind === 'version' && file_sha256 === sha256)) {
    return { version, sha256, proof: 'chosen' };
  }
  if (!own.isDenied && own.strength >= of.strength) return null;
  return { version, sha256, proof: PROOFS[of.strength] };
}

const PROOFS = ['none', 'named', 'announced'] as const;
