/** Seeded random numbers: the same seed gives the same sequence. */

export interface Dice {
  /** 0 to below 1. */
  next(): number;
  chance(probability: number): boolean;
  /** Whole, from `least` to `most`, both included. */
  between(least: number, most: number): number;
  pick<T>(things: readonly T[]): T;
  uuid(): string;
}

export function createDice(seed: number): Dice {
  // Whole 32 bits also of a large seed, of which a product of two numbers would keep the upper ones only.
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  /** mulberry32 */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => between(0, 15).toString(16)).join('');
  return {
    next,
    chance: (probability) => next() < probability,
    between,
    pick(things) {
      const thing = things[between(0, things.length - 1)];
      if (thing === undefined) throw new RangeError('Nothing to pick from.');
      return thing;
    },
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}
