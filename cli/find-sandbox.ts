/** Lets the `sandbox` verbs find the sandbox of a running `up --sandbox`, whose state lies in the data folder. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings } from '../config/load-settings.js';
import { isAlive } from '../ops/process-identity.js';
import { readRunFile } from './roles/run-file.js';

/** null: none runs, or SANDBOX_DATA_DIR says where one is. */
export function sandboxOfUp(env: NodeJS.ProcessEnv, cwd: string): string | null {
  if (env.SANDBOX_DATA_DIR) return null;
  let dataDir: string;
  try {
    ({ dataDir } = loadSettings({ env, cwd }));
  } catch {
    return null; // Settings that are wrong are none of the sandbox's business.
  }
  const up = readRunFile({ dataDir }, 'up');
  const folder = join(dataDir, 'sandbox');
  const isUp = up?.addresses.sandbox !== undefined && isAlive(up.pid);
  return isUp && existsSync(folder) ? folder : null;
}
