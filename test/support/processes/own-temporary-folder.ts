/**
 * Before each test file: what its tests, and the processes they start, put into the folder for temporary files lies in one
 * folder of that file and is gone with it, whether a test removes it or not.
 */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { folderPrefix, rootOfFolders } from './where-folders-lie.ts';

const before = process.env.TMPDIR;
// The process that runs the files is a child of the one that runs the whole.
const folder = mkdtempSync(join(rootOfFolders(), folderPrefix(process.ppid)));
// A PostgreSQL that root starts runs under another user, which has to get through to its own folder.
chmodSync(folder, 0o711);
process.env.TMPDIR = folder;

// Hooks end in reverse order: after those of the file itself.
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});
