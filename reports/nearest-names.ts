import { editDistance } from '../lib/config/did-you-mean.ts';

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

export function didYouMean(given: string, names: readonly string[]): string {
  const nearest = nearestNames(given, names);
  return nearest.length > 0 ? ` Did you mean ${nearest.join(' or ')}?` : '';
}
