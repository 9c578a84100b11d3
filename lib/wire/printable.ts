/** Makes text of strangers fit for a terminal, a log line, a table cell and a page. */

import { beginningOf } from './well-formed.ts';

/** What a person cannot see, or what changes how its surroundings are shown. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Noncharacter_Code_Point}\u2800\u3164]/gu;
/** Joiners are part of how some scripts and emoji are written; these three scripts have no use for them. */
const JOINED =
  /^(?![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\p{L}\p{M}\p{Extended_Pictographic}]$/u;

/**
 * The text with everything invisible written out, so that it can neither move a cursor, nor turn round what stands
 * beside it, nor pass for another text: control and format characters, bidirectional overrides and spaces that only
 * look like one as `\uXXXX`, a line break as ⏎. Letters and their joiners stay as they are.
 */
export function visible(text: string): string {
  return text.replace(/\r?\n/g, '⏎').replace(UNSEEN, (character, at: number) => {
    if (character === ' ' || character === '\u3000') return character;
    return isJoiner(character, text, at) ? character : escaped(character);
  });
}

/** `visible`, at most `limit` characters long, line breaks told apart: for a value in a message. */
export function printable(text: string, limit = 200): string {
  let shown = '';
  // An escape is never cut in two, and what is far beyond the limit is not looked at.
  for (const character of text.slice(0, limit + 1)) {
    const next = BREAKS[character] ?? visible(character);
    if (shown.length + next.length > limit) return `${beginningOf(shown, limit - 1)}…`;
    shown += next;
  }
  return shown;
}

const BREAKS: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t' };

function isJoiner(character: string, text: string, at: number): boolean {
  if (character !== '\u200c' && character !== '\u200d') return false;
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? '';
  const [after = ''] = text.slice(at + 1, at + 3);
  return JOINED.test(before) && JOINED.test(after);
}

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
