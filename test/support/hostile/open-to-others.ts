/** Files and folders that somebody else on the machine could look into: there should be none (0600, 0700). */

import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** @returns paths with their modes, relative to the folder; `.` is the folder itself */
export async function openToOthers(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = [folder, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  const found = await Promise.all(
    paths.map(async (path) => {
      const mode = ((await stat(path).catch(() => null))?.mode ?? 0) & 0o777;
      return (mode & 0o077) === 0 ? [] : [`${relative(folder, path) || '.'} is ${mode.toString(8)}`];
    }),
  );
  return found.flat();
}
