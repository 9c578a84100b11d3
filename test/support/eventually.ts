/** Waits for what comes in its own time, with a deadline instead of a guess. */

/** Asks until the answer is truthy; fails with what was last seen. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  { within = 60_000, every = 30 }: { readonly within?: number; readonly every?: number } = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + within;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline)
      throw new Error(`Still ${String(answer)} after ${within} ms: ${ask.toString()}`);
    await new Promise((wake) => setTimeout(wake, every));
  }
}
