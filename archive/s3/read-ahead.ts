/** Reads objects of a bucket some at a time, in their order: each answer takes a while, and a rebuild reads all of them. */

const AT_ONCE = 16;

/** @param names keys, or what `read` makes keys of */
export async function* readAhead<T>(
  names: readonly string[],
  read: (name: string) => Promise<T>,
): AsyncGenerator<readonly [name: string, found: T]> {
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const some = names.slice(from, from + AT_ONCE);
    yield* await Promise.all(some.map(async (name) => [name, await read(name)] as const));
  }
}
