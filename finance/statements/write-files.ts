/** Puts the files of a statement into a folder, each whole or not at all. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from '../../lib/files/files.ts';
import type { StatementFile } from './render-statement.ts';

/** In the place of files of the same names. @returns their paths @throws the system's error */
export async function writeFiles(
  folder: string,
  files: readonly StatementFile[],
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const paths: string[] = [];
  for (const { name, body } of files) {
    const path = join(folder, name);
    await writeWhole(path, body);
    paths.push(path);
  }
  return paths;
}
