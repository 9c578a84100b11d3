/** Medians and ratios of interleaved rounds: each side is held against the floor of the same round. */

export interface Sample {
  readonly ms: number;
  readonly cpuMs?: number;
  readonly peakMb?: number;
}

export type Rounds = ReadonlyMap<string, readonly Sample[]>;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function ratio(rounds: Rounds, sides: { side: string; floor: string; of: keyof Sample }): number {
  return median(ratios(rounds, sides));
}

/** A line per side, as Markdown: what is printed can be pasted into docs/performance.md. */
export function ratioTable(rounds: Rounds, floor: string): string {
  const lines = [...rounds].map(([side, samples]) => {
    const wall = ratios(rounds, { side, floor, of: 'ms' });
    const spread = `${fixed(median(wall))} (${fixed(Math.min(...wall))}–${fixed(Math.max(...wall))})`;
    const cells = [
      side,
      `${Math.round(median(samples.map(({ ms }) => ms)))}`,
      spread,
      fixed(ratio(rounds, { side, floor, of: 'cpuMs' })),
      rounded(median(samples.map(({ peakMb }) => peakMb ?? Number.NaN))),
      fixed(ratio(rounds, { side, floor, of: 'peakMb' })),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head = '| side | ms | ratio (min–max) | processor time | peak MB | memory |';
  return [head, '|---|---|---|---|---|---|', ...lines].join('\n');
}

function ratios(
  rounds: Rounds,
  { side, floor, of }: { side: string; floor: string; of: keyof Sample },
): number[] {
  const base = rounds.get(floor) ?? [];
  return (rounds.get(side) ?? []).map(
    (sample, round) => (sample[of] ?? Number.NaN) / (base[round]?.[of] ?? Number.NaN),
  );
}

function fixed(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2) : '–';
}

function rounded(value: number): string {
  return Number.isFinite(value) ? `${Math.round(value)}` : '–';
}
