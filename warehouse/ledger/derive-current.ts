/**
 * Which load of an invoice counts: the one rule, for the present and for every earlier instant (ADR 17). It depends on the order in
 * which the ledger recorded loads, answers and choices, and on no clock of ours.
 */

import type { OutrankedBy } from '../../lib/warehouse-requests.ts';
import {
  type AttentionLine,
  compare,
  type Evidence,
  type InvoiceLines,
  type LoadLine,
} from './invoice-lines.ts';

interface Placed {
  /** The version after which the line was recorded; that of a load is its own. */
  readonly version: number;
  /** When the line was recorded, in ISO 8601 UTC. */
  readonly at: string;
}

export type Recorded = Placed &
  (
    | { readonly load: LoadLine; readonly fact?: undefined }
    | { readonly fact: AttentionLine; readonly load?: undefined }
  );

/**
 * Loads and facts in the order in which the ledger recorded them. A record was made before all that were recorded after it, so
 * `at` is the earliest instant among itself and those, which corrects a clock that was ahead. Two loads have one version only after a
 * lake has lost commits: they are in the order of their time.
 */
export function recordedOrder({
  loads,
  attention,
}: Pick<InvoiceLines, 'loads' | 'attention'>): readonly Recorded[] {
  let seen = 0;
  const facts = attention.map((fact): Recorded => {
    const { after_version: version, recorded_at: at } = fact;
    seen = Math.max(seen, version ?? versionAt(loads, at));
    return { version: seen, at, fact };
  });
  const records = [
    ...loads.map((load): Recorded => ({ version: load.version, at: load.loaded_at, load })),
    ...facts,
  ].sort(
    (a, b) =>
      a.version - b.version ||
      Number(a.load === undefined) - Number(b.load === undefined) ||
      (a.load === undefined ? 0 : compare(a.at, b.at)),
  );
  for (let index = records.length - 2; index >= 0; index -= 1) {
    const [record, next] = [records[index], records[index + 1]];
    if (record !== undefined && next !== undefined && next.at < record.at)
      records[index] = { ...record, at: next.at };
  }
  return records;
}

/** For facts of the endpoint, which does not know the versions. No such fact decides which load counts. */
function versionAt(loads: readonly LoadLine[], at: string): number {
  return Math.max(0, ...loads.filter(({ loaded_at }) => loaded_at <= at).map(({ version }) => version));
}

/** What the service or an operator stated about the file that counts. */
interface Ruling {
  readonly sha256: string;
  /** The hashes that an operator saw named and decided against; null for an answer of the service. */
  readonly overruled: ReadonlySet<string> | null;
}

class Candidates {
  readonly loads: LoadLine[] = [];
  /** For each announced hash, the order of its newest announcement. */
  readonly #announced = new Map<string, string>();
  readonly #answered = new Set<string>();
  readonly #rulings: Ruling[] = [];

  addRecorded({ load, fact }: Recorded): void {
    if (load !== undefined) {
      this.loads.push(load);
      if (isAnsweredLoad(load)) this.#answer(load.file_sha256);
    } else if (fact.file_sha256 !== null && fact.kind === 'hash') this.#answer(fact.file_sha256);
    else if (fact.file_sha256 !== null && fact.kind === 'version')
      this.#rulings.push({ sha256: fact.file_sha256, overruled: new Set(fact.names?.split(',')) });
  }

  addEvidence(line: Evidence): void {
    const { announced_sha256: sha256 } = line;
    if (sha256 === null) return;
    const order = announcementOrder(line);
    if (order > (this.#announced.get(sha256) ?? '')) this.#announced.set(sha256, order);
  }

  /** An answer that repeats what an operator has decided against changes nothing. */
  #answer(sha256: string): void {
    this.#answered.add(sha256);
    if (this.#rulings.at(-1)?.overruled?.has(sha256) !== true)
      this.#rulings.push({ sha256, overruled: null });
  }

  /**
   * The latest ruling whose file is loaded; else the newest announced file; else the newest file, unless it was imported although
   * the service had named another one.
   */
  current(): LoadLine | null {
    for (const { sha256 } of this.#rulings.toReversed()) {
      const ruled = this.loads.findLast((load) => hashesOf(load).includes(sha256));
      if (ruled !== undefined) return ruled;
    }
    const announced = this.loads
      .filter((load) => this.basisOf(load) === 'announced')
      .map((load) => ({ load, order: this.#announcedOrder(load) }))
      .sort((a, b) => compare(a.order, b.order));
    return announced.at(-1)?.load ?? this.loads.findLast(({ is_denied }) => !is_denied) ?? null;
  }

  basisOf(load: LoadLine): 'chosen' | 'named' | 'announced' | 'none' {
    const hashes = hashesOf(load);
    const isChosen = this.#rulings.some(
      ({ sha256, overruled }) => overruled !== null && hashes.includes(sha256),
    );
    return isChosen ? 'chosen' : (this.namedBy(load) ?? 'none');
  }

  namedBy(load: LoadLine): 'named' | 'announced' | null {
    if (isAnsweredLoad(load) || hashesOf(load).some((hash) => this.#answered.has(hash))) return 'named';
    const isAnnounced = load.announced_sha256 === load.file_sha256 || this.#announcedOrder(load) !== '';
    return isAnnounced ? 'announced' : null;
  }

  /** The hash that the service named in its last answer; null when it has named none. */
  get lastAnswer(): string | null {
    return [...this.#rulings].findLast(({ overruled }) => overruled === null)?.sha256 ?? null;
  }

  #announcedOrder(load: LoadLine): string {
    return hashesOf(load)
      .map((hash) => this.#announced.get(hash) ?? '')
      .reduce((best, order) => (order > best ? order : best), '');
  }
}

function hashesOf({ file_sha256: sha256, encoded_sha256: encoded }: LoadLine): readonly string[] {
  return encoded === null ? [sha256] : [sha256, encoded];
}

/** Whether the service named the hash of the file in an answer, not only in an event. */
function isAnsweredLoad(load: LoadLine): boolean {
  return load.file_source !== 'event' && load.announced_sha256 === load.file_sha256;
}

/** The order of an announcement; of equal times the one received later is the newer one. */
function announcementOrder({ event_time: time, recorded_at: receivedAt, event_id: id }: Evidence): string {
  return time + receivedAt + (id ?? '');
}

function candidatesOf(lines: InvoiceLines): Candidates {
  const candidates = new Candidates();
  for (const line of lines.evidence) candidates.addEvidence(line);
  for (const record of recordedOrder(lines)) candidates.addRecorded(record);
  return candidates;
}

export interface CountingChange {
  readonly at: string;
  readonly load: LoadLine | null;
}

/** Each change of the load that counts, in order of `at`; the last one is the present. */
export function countingChanges(
  evidence: readonly Evidence[],
  recorded: readonly Recorded[],
): readonly CountingChange[] {
  const candidates = new Candidates();
  const steps = [
    ...evidence.map((line) => ({ at: line.recorded_at, add: () => candidates.addEvidence(line) })),
    ...recorded
      .filter(({ load, fact }) => load !== undefined || fact?.file_sha256 !== null)
      .map((record) => ({ at: record.at, add: () => candidates.addRecorded(record) })),
  ].sort((a, b) => compare(a.at, b.at));
  const changes: CountingChange[] = [];
  for (const [index, { at, add }] of steps.entries()) {
    add();
    if (steps[index + 1]?.at === at) continue;
    const load = candidates.current();
    if (load?.load_id !== changes.at(-1)?.load?.load_id) changes.push({ at, load });
  }
  return changes;
}

/** `named` when the service named the load's hash in an answer, `announced` when only an event did, null when neither did. */
export function namedBy(load: LoadLine, lines: InvoiceLines): 'named' | 'announced' | null {
  return candidatesOf(lines).namedBy(load);
}

/** @param load need not be one of the lines */
export function isNamed(load: LoadLine, lines: InvoiceLines): boolean {
  return candidatesOf(lines).basisOf(load) !== 'none';
}

export function isDenied(load: LoadLine, lines: InvoiceLines): boolean {
  return load.file_source === 'file' && !isNamed(load, lines) && namedHash(lines) !== null;
}

export interface NamedHash {
  readonly sha256: string;
  readonly sizeBytes: number | null;
  /** The event that announced the hash; null when the service named it in an answer. */
  readonly eventId: string | null;
  readonly recordedAt: string | null;
}

/** The hash that the service named last: in its last answer, else in the newest announcement. */
export function namedHash(lines: InvoiceLines): NamedHash | null {
  const answered = candidatesOf(lines).lastAnswer;
  const newest = announcements(lines.evidence).find(
    ({ announced_sha256: hash }) => answered === null || hash === answered,
  );
  const sha256 = answered ?? newest?.announced_sha256 ?? null;
  if (sha256 === null) return null;
  return {
    sha256,
    sizeBytes: newest?.announced_size_bytes ?? null,
    eventId: newest?.event_id ?? null,
    recordedAt: newest?.recorded_at ?? null,
  };
}

/** The newest announcement, if it came after the load that counts and names another file: the service was asked and named the load. */
export function unheededAnnouncement(load: LoadLine, { evidence }: InvoiceLines): NamedHash | null {
  const [newest] = announcements(evidence);
  const { announced_sha256: sha256, recorded_at: recordedAt } = newest ?? {};
  if (sha256 == null || recordedAt === undefined || recordedAt <= load.loaded_at) return null;
  if (hashesOf(load).includes(sha256)) return null;
  const { announced_size_bytes: sizeBytes = null, event_id: eventId = null } = newest ?? {};
  return { sha256, sizeBytes, eventId, recordedAt };
}

/** Returns the announcements, the newest first. */
function announcements(evidence: readonly Evidence[]): readonly Evidence[] {
  return evidence
    .filter(({ announced_sha256 }) => announced_sha256 !== null)
    .toSorted((a, b) => compare(announcementOrder(b), announcementOrder(a)));
}

/** Every hash that the service has named; an operator who chooses a version decides against them. */
export function namedHashes({ evidence, loads, attention }: InvoiceLines): readonly string[] {
  const named = [
    ...evidence.map(({ announced_sha256 }) => announced_sha256),
    ...loads.flatMap((load) => (load.announced_sha256 === null ? [] : hashesOf(load))),
    ...attention.map(({ kind, file_sha256 }) => (kind === 'hash' ? file_sha256 : null)),
  ];
  return [...new Set(named.filter((hash) => hash !== null))].sort();
}

/** Returns null when the load counts. */
export function outrankedBy(
  load: LoadLine,
  current: LoadLine | null,
  lines: InvoiceLines,
): OutrankedBy | null {
  if (current?.load_id === load.load_id) return null;
  if (current === null) {
    const named = namedHash(lines);
    if (named === null) return null;
    return { version: null, sha256: named.sha256, proof: named.eventId === null ? 'named' : 'announced' };
  }
  const basis = candidatesOf(lines).basisOf(current);
  return {
    version: current.version,
    sha256: current.file_sha256,
    proof: basis === 'none' ? 'later' : basis,
  };
}
