/** Reads the durations of the settings, such as `90s`, `1h` or `7d`. */

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @throws RangeError the text is not a number followed by ms, s, m, h or d */
export function durationMs(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) throw new RangeError(`Not a duration: ${text}. Write e.g. 90s, 1h or 7d.`);
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}
