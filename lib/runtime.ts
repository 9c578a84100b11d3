/** The user who runs this process. A container may run under a user id that has no passwd entry and no home folder. */

import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { WriteStream } from 'node:tty';
import { fileURLToPath } from 'node:url';

/** `uid 12345` where the user has no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.geteuid?.() ?? 'unknown'}`;
  }
}

/** The user's cache folder of billsync; below `/`, as container engines set HOME, where the user has no home folder. */
export function userCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(home(), '.cache'), 'billsync');
}

function home(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}

/** From the package file, e.g. `0.1.0`; `unknown` without one. */
export function version(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path))
      return String((JSON.parse(readFileSync(path, 'utf8')) as { version: unknown }).version);
    if (folder === dirname(folder)) return 'unknown';
  }
}

export function hasColors(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && WriteStream.prototype.getColorDepth(process.env) > 1;
}
