/** A temporary folder in memory where the system has one, for tests that write thousands of small files and keep none. */

import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';

/** A new folder; whoever asks removes it. */
export function makeMemoryFolder(prefix: string): Promise<string> {
  return mkdtemp(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), prefix));
}
