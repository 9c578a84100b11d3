/** One fault: a piece of a source file and what replaces it. */
export interface Mutant {
  /** Path below the root of the checkout. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  readonly kind: string;
  /** Of the file's bytes. */
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** Name of the function around the place; null: the module itself, or SQL. */
  readonly within: string | null;
}

type Found = Pick<Mutant, 'kind' | 'start' | 'end' | 'after'> & { readonly within?: string | null };

export function mutantOf(file: string, bytes: Buffer, { within = null, ...found }: Found): Mutant {
  const before = bytes.subarray(found.start, found.end).toString();
  const line = bytes.subarray(0, found.start).toString().split('\n').length;
  return { file, line, before, within, ...found };
}

/** One line for a person: the place, the kind of fault and the change. */
export function describeMutant({ file, line, kind, before, after }: Mutant): string {
  const short = (text: string): string => {
    const flat = text.replace(/\s+/g, ' ');
    return flat.length > 90 ? `${flat.slice(0, 87)}...` : flat;
  };
  return `${file}:${line} ${kind}: ${short(before)} → ${after === '' ? '(nothing)' : short(after)}`;
}

/** mulberry32: the same seed draws the same faults from the same tree. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
