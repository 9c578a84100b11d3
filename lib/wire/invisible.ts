/** What a person sees nothing of in a cell, although there is something: it would make one name two. */

/**
 * Code points from and to: white space, control characters, what Unicode tells every font to leave out
 * (Default_Ignorable_Code_Point), and the blanks that count as letters or symbols (Hangul fillers, Braille without dots).
 * `is_something` of warehouse/sql/csv-session.sql lists the same; a test holds them against each other.
 */
const INVISIBLE: readonly (readonly [number, number])[] = [
  [0x00, 0x20],
  [0x7f, 0xa0],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x1680, 0x1680],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x2028, 0x202f],
  [0x205f, 0x206f],
  [0x2800, 0x2800],
  [0x3000, 0x3000],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

/** Whether a text is empty or made only of what nobody sees. */
export function isNothing(text: string): boolean {
  for (const character of text) if (!isInvisible(character.codePointAt(0) ?? 0)) return false;
  return true;
}

function isInvisible(codePoint: number): boolean {
  return INVISIBLE.some(([first, last]) => codePoint >= first && codePoint <= last);
}
