/** Which billsync this is, from the package file nearest above: the checkout's or the published package's. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As its package file says, e.g. `0.1.0`; `unknown` where there is none. */
export function version(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path))
      return String((JSON.parse(readFileSync(path, 'utf8')) as { version: unknown }).version);
    if (folder === dirname(folder)) return 'unknown';
  }
}
