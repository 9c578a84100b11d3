/** Puts the files of a statement into a folder, each whole or not at all. */

import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StatementFile } from './render-statement.js';

/** In the place of files of the same names. @returns their paths @throws the system's error */
export async function writeFiles(
  folder: string,
  files: readonly StatementFile[],
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const paths: string[] = [];
  for (const { name, body } of files) {
    const path = join(folder, name);
    const part = `${path}.${randomBytes(4).toString('hex')}.part`;
    try {
      await writeFile(part, body);
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined);
      throw Object.assign(error as Error, { path });
    }
    paths.push(path);
  }
  return paths;
}
