/** Grouping of a list, which Node 20 has no `Map.groupBy` for. */

/** Pairs of a key and its members, both in the order in which they come up. */
export function groupBy<T>(members: readonly T[], of: (member: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const member of members) {
    const key = of(member);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [member]);
    else group.push(member);
  }
  return [...groups];
}
