/**
 * At most three, nearest first: names within a third of the given length (at least 2 edits), or of which a
 * part begins with it.
 */
export function nearestNames(given: string, names: readonly string[]): string[] {
  const beginning = given.toLowerCase();
  const limit = Math.max(2, Math.floor(given.length / 3));
  return names
    .filter((name) => name !== '')
    .map((name) => ({ name, distance: editDistance(beginning, name.toLowerCase()) }))
    .filter(
      ({ name, distance }) =>
        distance <= limit ||
        (given.length > 2 &&
          [name, ...name.split(/[^\p{L}\p{N}]+/u)].some((part) => part.toLowerCase().startsWith(beginning))),
    )
    .sort((one, other) => one.distance - other.distance || one.name.localeCompare(other.name))
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Returns a sentence that begins with a space, or the empty text when no name is near. */
export function didYouMean(given: string, names: readonly string[]): string {
  const nearest = nearestNames(given, names);
  return nearest.length > 0 ? ` Did you mean ${nearest.join(' or ')}?` : '';
}

function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replace = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(replace, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforePrevious[j - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
