/** The `sandbox` verbs with the flags of every command: they find the sandbox of a running `up --sandbox` by its data folder. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { isAlive } from '../../lib/processes.ts';
import { sandboxCommand } from '../../sandbox/commands/command.ts';
import { readRunFile } from '../roles/run-file.ts';
import { type SharedFlags, settingFlags, withSharedFlags } from '../verb.ts';

/** `serve` stays as it is: it begins a sandbox of its own, and needs no billsync. */
export function mountedSandbox(): Command {
  const sandbox = sandboxCommand();
  for (const verb of verbsOf(sandbox)) if (verb.name() !== 'serve') withSharedFlags(verb);
  return sandbox.hook('preAction', (_sandbox, verb) => {
    if (verb.name() === 'serve') return;
    const folder = sandboxOfUp(verb.opts<SharedFlags>(), process.env, process.cwd());
    if (folder !== null) process.env.SANDBOX_DATA_DIR = folder;
  });
}

function verbsOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(verbsOf);
}

/** null: none runs, or SANDBOX_DATA_DIR names one and no flag does. */
export function sandboxOfUp(flags: SharedFlags, env: NodeJS.ProcessEnv, cwd: string): string | null {
  if (flags.dataDir !== undefined) return join(flags.dataDir, 'sandbox');
  if (env.SANDBOX_DATA_DIR) return null;
  let dataDir: string;
  try {
    ({ dataDir } = loadSettings({ flags: settingFlags(flags), env, cwd }));
  } catch {
    return null; // Settings that are wrong are none of the sandbox's business.
  }
  const up = readRunFile({ dataDir }, 'up');
  const folder = join(dataDir, 'sandbox');
  const isUp = up?.addresses.sandbox !== undefined && isAlive(up.pid);
  return isUp && existsSync(folder) ? folder : null;
}
