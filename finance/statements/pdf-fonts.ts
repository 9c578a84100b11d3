import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { create, type Font } from 'fontkit';

export interface Run {
  readonly font: string;
  readonly text: string;
}

/**
 * The font has the metrics of Arial, and the letters of Latin, Greek, Cyrillic, Hebrew and Vietnamese. Other scripts would need
 * tens of megabytes.
 */
const FAMILY = '@fontsource/arimo';
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

export const UNKNOWN = '?';

const require = createRequire(import.meta.url);

export function registerFonts(document: { registerFont(name: string, bytes: Buffer): unknown }): void {
  for (const [weight, number] of Object.entries(WEIGHTS))
    for (const subset of SUBSETS) {
      document.registerFont(`${subset}-${weight}`, fontFile(subset, number));
    }
}

function fontFile(subset: string, weight: number): Buffer {
  return readFileSync(require.resolve(`${FAMILY}/files/arimo-${subset}-${weight}-normal.woff`));
}

export function runsOf(text: string, weight: Weight): readonly Run[] {
  const runs: { font: string; text: string }[] = [];
  for (const letter of text) {
    const { subset, drawn } = drawnAs(letter, weight);
    const font = `${subset}-${weight}`;
    const last = runs.at(-1);
    if (last?.font === font) last.text += drawn;
    else runs.push({ font, text: drawn });
  }
  return runs;
}

export function unknownLetters(texts: readonly string[]): readonly string[] {
  const letters = new Set(texts.flatMap((text) => [...text]));
  const isUnknown = (letter: string, weight: Weight): boolean => drawnAs(letter, weight).isUnknown;
  return [...letters].filter((letter) => isUnknown(letter, 'plain') || isUnknown(letter, 'bold'));
}

interface DrawnAs {
  readonly subset: string;
  readonly drawn: string;
  readonly isUnknown: boolean;
}

const knownLetters = { plain: new Map<string, DrawnAs>(), bold: new Map<string, DrawnAs>() };

function drawnAs(letter: string, weight: Weight): DrawnAs {
  const known = knownLetters[weight].get(letter);
  if (known !== undefined) return known;
  const found = findLetter(letter, weight);
  knownLetters[weight].set(letter, found);
  return found;
}

function findLetter(letter: string, weight: Weight): DrawnAs {
  const subset = fontsOf(weight).find(([, font]) => hasGlyph(font, letter))?.[0];
  if (subset !== undefined) return { subset, drawn: letter, isUnknown: false };
  const [plain = ''] = SUBSETS;
  // A space of another width, or without a break, is drawn as a space.
  return /\p{Zs}/u.test(letter)
    ? { subset: plain, drawn: ' ', isUnknown: false }
    : { subset: plain, drawn: UNKNOWN, isUnknown: true };
}

/**
 * A font may list a letter whose glyph cannot be read: the data of these fonts' no-break space is beyond the
 * end of the table.
 */
function hasGlyph(font: Font, letter: string): boolean {
  const code = letter.codePointAt(0) ?? 0;
  // Control and format characters have no form, even where a font lists them.
  if (/\p{C}/u.test(letter) || !font.hasGlyphForCodePoint(code)) return false;
  try {
    return Number.isFinite(font.glyphForCodePoint(code).advanceWidth);
  } catch {
    return false;
  }
}

const openedFonts = new Map<Weight, readonly (readonly [subset: string, font: Font])[]>();

function fontsOf(weight: Weight): readonly (readonly [subset: string, font: Font])[] {
  const known = openedFonts.get(weight);
  if (known !== undefined) return known;
  const fonts = SUBSETS.map((subset) => [subset, create(fontFile(subset, WEIGHTS[weight]))] as const);
  openedFonts.set(weight, fonts);
  return fonts;
}
