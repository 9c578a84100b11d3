/** Files that one process writes and others read whole: old or new, never a half. What must outlive a crash: durable-files.ts. */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { withName } from '../config/system-error.ts';
import { systemCode } from './durable-files.ts';
import { temporaryName } from './temporary-names.ts';

/** Private to the user (0600), as are the folders it has to make (0700). @throws the system's error */
export function replaceFile(path: string, text: string): void {
  const draft = temporaryName(dirname(path));
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  withName(draft, () => writeFileSync(draft, text, { mode: 0o600 }));
  renameSync(draft, path);
}

/** null when there is none. @throws the system's error for what is there and cannot be read */
export function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
}
