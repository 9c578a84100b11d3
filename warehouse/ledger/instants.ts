/** Instants as the ledgers have them. */

/** Instants are ISO 8601 UTC of one form, so their text sorts as their time. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function earliest(instants: readonly string[]): string | null {
  return instants.reduce<string | null>((best, at) => (best === null || at < best ? at : best), null);
}

export function latest(instants: readonly string[]): string | null {
  return instants.reduce<string | null>((best, at) => (best === null || at > best ? at : best), null);
}
