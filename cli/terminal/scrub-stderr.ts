/** What a person reads on stderr holds no secret, whoever wrote it: a command, an error, a library's warning. */

import type { Scrub } from '../../lib/log/scrub.ts';

let scrub: Scrub | null = null;

/** Once the settings are known. Of several calls in one process the last counts. */
export function scrubStderr(with_: Scrub): void {
  if (scrub === null) {
    const write = process.stderr.write.bind(process.stderr) as (...parts: unknown[]) => boolean;
    process.stderr.write = (text: unknown, ...rest: unknown[]) =>
      write(typeof text === 'string' ? (scrub ?? ((all) => all))(text) : text, ...rest);
  }
  scrub = with_;
}
