/** Letters on paper: which of the fonts that come with billsync has each, and what is written for one that none has. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A piece of a text that one font has. */
export interface Run {
  /** As `registerFonts` names it. */
  readonly font: string;
  readonly text: string;
}

/** Arimo, measured as Arial is: Latin, Greek, Cyrillic, Hebrew and Vietnamese. Other scripts would weigh tens of megabytes. */
const FAMILY = '@fontsource/arimo';
/** In the order in which they are asked. */
const SUBSETS = [
  'latin',
  'latin-ext',
  'greek',
  'greek-ext',
  'cyrillic',
  'cyrillic-ext',
  'vietnamese',
  'hebrew',
];
const WEIGHTS = { plain: 400, bold: 700 } as const;
export type Weight = keyof typeof WEIGHTS;

/** What stands for a letter that no font has. */
export const UNKNOWN = '?';

const require = createRequire(import.meta.url);
let known: readonly Covered[] | undefined;

interface Covered {
  readonly subset: string;
  readonly ranges: readonly (readonly [number, number])[];
}

/** Gives a document all fonts; only those that are used end up in it, with the letters that are used. */
export function registerFonts(document: { registerFont(name: string, bytes: Buffer): unknown }): void {
  for (const [weight, number] of Object.entries(WEIGHTS))
    for (const subset of SUBSETS) {
      const file = require.resolve(`${FAMILY}/files/arimo-${subset}-${number}-normal.woff`);
      document.registerFont(`${subset}-${weight}`, readFileSync(file));
    }
}

/** The text in pieces, each with a font that has it. */
export function runsOf(text: string, weight: Weight): readonly Run[] {
  const runs: { font: string; text: string }[] = [];
  for (const letter of text) {
    const subset = subsetOf(letter);
    const font = `${subset ?? SUBSETS[0]}-${weight}`;
    const last = runs.at(-1);
    const shown = subset === null ? UNKNOWN : letter;
    if (last?.font === font) last.text += shown;
    else runs.push({ font, text: shown });
  }
  return runs;
}

/** Letters of the texts that no font has, each once. */
export function unknownLetters(texts: readonly string[]): readonly string[] {
  const letters = new Set(texts.flatMap((text) => [...text]));
  return [...letters].filter((letter) => subsetOf(letter) === null);
}

function subsetOf(letter: string): string | null {
  const code = letter.codePointAt(0) ?? 0;
  // Control characters have no form.
  if (code < 0x20) return null;
  known ??= covered();
  return known.find(({ ranges }) => ranges.some(([from, to]) => code >= from && code <= to))?.subset ?? null;
}

/** As the package says it: `U+0301,U+0400-045F`. */
function covered(): readonly Covered[] {
  const said = require(`${FAMILY}/unicode.json`) as Readonly<Record<string, string>>;
  return SUBSETS.map((subset) => ({
    subset,
    ranges: (said[subset] ?? '').split(',').map((range): readonly [number, number] => {
      const [from = '', to = from] = range.replace('U+', '').split('-');
      return [Number.parseInt(from, 16), Number.parseInt(to, 16)];
    }),
  }));
}
