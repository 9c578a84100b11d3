/** Makes bytes of strangers fit for a terminal, a log line and a table cell. */

/**
 * At most `limit` characters, control characters (also bidirectional overrides) and spaces that only look like
 * one as escapes, so that a value can neither flood nor rewrite what surrounds it.
 */
export function printable(text: string, limit = 200): string {
  let shown = '';
  for (const character of text) {
    const next = isUnsafe(character) ? escaped(character) : character;
    if (shown.length + next.length > limit - 1 && shown.length + next.length + 1 > limit) return `${shown}…`;
    shown += next;
  }
  return shown;
}

function isUnsafe(character: string): boolean {
  return character !== ' ' && /[\p{Cc}\p{Cf}\p{Z}\p{Cs}]/u.test(character);
}

function escaped(character: string): string {
  if (character === '\r') return '\\r';
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
