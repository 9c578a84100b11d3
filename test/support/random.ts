/** Seeded random numbers: the same seed gives the same sequence. */

export interface Random {
  /** From 0 to below 1. */
  next(): number;
  chance(probability: number): boolean;
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number;
  pick<T>(values: readonly T[]): T;
  uuid(): string;
}

/** mulberry32 */
export function createRandom(seed: number): Random {
  // `imul` keeps the lower 32 bits of a large product, which a multiplication of numbers would lose.
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => between(0, 15).toString(16)).join('');
  return {
    next,
    chance: (probability) => next() < probability,
    between,
    pick(values) {
      const value = values[between(0, values.length - 1)];
      if (value === undefined) throw new RangeError('Nothing to pick from.');
      return value;
    },
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}
