/** Finds what somebody who misspelt a name most likely meant. */

import { editDistance } from '../config/did-you-mean.ts';

/** At most three of `names`, nearest first, none farther than a third of the word's length (and at least 2 edits). */
export function nearestNames(asked: string, names: readonly string[]): string[] {
  const limit = Math.max(2, Math.floor(asked.length / 3));
  return names
    .filter((name) => name !== '')
    .map((name) => ({ name, distance: editDistance(asked.toLowerCase(), name.toLowerCase()) }))
    .filter(
      ({ name, distance }) =>
        distance <= limit || (asked.length > 2 && name.toLowerCase().startsWith(asked.toLowerCase())),
    )
    .sort((one, other) => one.distance - other.distance || one.name.localeCompare(other.name))
    .slice(0, 3)
    .map(({ name }) => name);
}
