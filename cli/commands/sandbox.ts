import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { isAlive } from '../../lib/processes.ts';
import { sandboxCommand } from '../../sandbox/commands/command.ts';
import { readRunFile } from '../roles/run-file.ts';
import { type SharedFlags, settingFlags } from '../verb.ts';

export function command(): Command {
  return sandboxCommand().hook('preAction', (_sandbox, verb) => {
    const flags = verb.optsWithGlobals<SharedFlags>();
    // The program takes this option before the command sees it.
    verb.setOptionValue('verbose', flags.verbose);
    if (verb.name() === 'serve') return;
    const folder = sandboxOfUp(flags, process.env, process.cwd());
    if (folder !== null) process.env.SANDBOX_DATA_DIR = folder;
  });
}

/** The folder of the sandbox of `up`; null when none runs, or SANDBOX_DATA_DIR names one and no flag does. */
export function sandboxOfUp(flags: SharedFlags, env: NodeJS.ProcessEnv, cwd: string): string | null {
  if (flags.dataDir !== undefined) return join(flags.dataDir, 'sandbox');
  if (env.SANDBOX_DATA_DIR) return null;
  let dataDir: string;
  try {
    ({ dataDir } = loadSettings({ flags: settingFlags(flags), env, cwd }));
  } catch {
    return null;
  }
  const up = readRunFile({ dataDir }, 'up');
  const folder = join(dataDir, 'sandbox');
  const isUp = up?.addresses.sandbox !== undefined && isAlive(up.pid);
  return isUp && existsSync(folder) ? folder : null;
}
