/** How deep JSON nests, told before it is parsed: readers recurse, and a stack is not as deep as a sender can nest. */

/** Far more than any envelope or answer needs (spec 2.4: two levels), far less than any stack holds. */
export const DEEPEST_JSON = 64;

/** True when objects and arrays nest deeper than `limit` anywhere; also of text that is no JSON, which is told later. */
export function isDeeperThan(limit: number, text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        if (depth > limit) return true;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
    }
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Where the string that begins at `start` ends; the end of the text when nothing ends it. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === BACKSLASH) at += 1;
    else if (character === QUOTE) return at;
  }
  return text.length;
}
