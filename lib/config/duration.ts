/** Reads the durations of the settings, such as `90s`, `1h` or `7d`. */

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^ms$/i, 1],
  [/^s(?:ec)?$/i, SECOND_MS],
  [/^m(?:in)?$/i, 60 * SECOND_MS],
  [/^h(?:ours?)?$/i, HOUR_MS],
  [/^d(?:ays?)?$/i, DAY_MS],
  [/^w(?:eeks?)?$/i, 7 * DAY_MS],
];

/** @throws RangeError the text is not a number followed by ms, s, m, h, d or w */
export function durationMs(text: string): number {
  const [, number, word = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text.trim()) ?? [];
  const unit = UNITS.find(([pattern]) => pattern.test(word));
  if (number === undefined || unit === undefined) {
    throw new RangeError(`Not a duration: ${text}. Write e.g. 90s, 1h or 7d.`);
  }
  return Number(number) * unit[1];
}
