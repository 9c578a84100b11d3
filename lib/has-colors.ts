/** Colors by Node's own rules: a terminal, and neither NO_COLOR, NODE_DISABLE_COLORS, FORCE_COLOR=0 nor TERM=dumb. */

import { WriteStream } from 'node:tty';

export function hasColors(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && WriteStream.prototype.getColorDepth(process.env) > 1;
}
