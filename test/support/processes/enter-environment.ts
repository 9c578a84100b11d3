/**
 * Before each test file: sets the environment of the file, and one folder for the temporary files of the process and its children,
 * which is removed after the file.
 */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';
import { environmentOf } from './environment.ts';
import { folderPrefix, rootOfFolders } from './test-folders.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const environment = environmentOf(relative(root, expect.getState().testPath ?? ''));
// The process that runs the files is a child of the one that runs the suite.
const folder = mkdtempSync(join(rootOfFolders(), `${folderPrefix(process.ppid)}${environment.folder}-`));
// A PostgreSQL that root starts runs under another user, which needs access to its own folder.
chmodSync(folder, 0o711);

const before = setVariables({ ...environment.variables, TMPDIR: folder });
const umaskBefore = process.umask(environment.umask);

// Hooks end in reverse order: after those of the file itself.
afterAll(() => {
  setVariables(before);
  process.umask(umaskBefore);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

function setVariables(variables: Readonly<Record<string, string | null>>): Record<string, string | null> {
  const before: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(variables)) {
    before[name] = process.env[name] ?? null;
    if (value === null) delete process.env[name];
    else process.env[name] = value;
  }
  return before;
}
