/** Finds what somebody who misspelt a name most likely meant. */

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

/** Levenshtein distance, one row of the table at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries()) {
      const substituted = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(substituted, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
