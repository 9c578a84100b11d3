/** Which version of an invoice counts, and what is open about it since. */

import { VOID_CONTRADICTED } from './derive-void.ts';
import { compare, latest } from './instants.ts';
import type { AttentionLine, Evidence, LoadLine } from './invoice-lines.ts';

/**
 * The version that was announced last. A load that no event announced is as new as its loading; one that a person
 * chose is as new as the choice, so that only what is announced after it takes its place. The macro
 * `current_loads_as_known_on` says the same of any instant of the past.
 */
export function currentLoad(
  loads: readonly LoadLine[],
  evidence: readonly Evidence[],
  notes: readonly AttentionLine[],
): LoadLine | null {
  const announcedAt = ({ file_sha256: sha256, loaded_at }: LoadLine): string => {
    const announced = evidence
      .filter((line) => line.announced_sha256 === sha256)
      .map((line) => line.event_time);
    const chosen = notes.flatMap(({ kind, file_sha256, counts_from }) =>
      kind === 'version' && file_sha256 === sha256 && counts_from !== null ? [counts_from] : [],
    );
    return latest([...(announced.length === 0 ? [loaded_at] : announced), ...chosen]) ?? loaded_at;
  };
  return loads.reduce<LoadLine | null>((best, load) => {
    if (best === null) return load;
    const order = compare(announcedAt(load), announcedAt(best));
    return order > 0 || (order === 0 && load.load_id > best.load_id) ? load : best;
  }, null);
}

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
