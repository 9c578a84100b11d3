/** `billsync demo`: the whole story on this machine, in under a minute, with the proof that every cent is right. */

import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { FEWEST_INVOICES } from '../demo/story.ts';
import { CliError, EXIT } from '../errors.ts';
import { positiveInteger, verb } from '../verb.ts';

interface DemoFlags {
  readonly invoices: number;
  readonly seed: number;
  readonly keep?: boolean;
  readonly quiet?: boolean;
  readonly dataDir?: string;
}

export function demoCommand(): Command {
  return verb(
    'demo',
    'Runs everything on this machine: a simulated billing service with the faults that happen in practice, Temporal, endpoint ' +
      'and worker; then the reports, and the proof that they equal what the service billed.',
    'billsync demo\nbillsync demo --invoices 60 --seed 7 --keep',
  )
    .option('--invoices <number>', 'how many invoices are billed', positiveInteger, 36)
    .option('--seed <number>', 'seed of the generated ids, amounts and texts', positiveInteger, 1)
    .option('--keep', 'keep everything running afterwards, until Ctrl-C')
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<DemoFlags>();
      if (flags.invoices < FEWEST_INVOICES) {
        throw new CliError(EXIT.usage, `the story needs at least ${FEWEST_INVOICES} invoices`, {
          hint: `billsync demo --invoices ${FEWEST_INVOICES}`,
        });
      }
      const dataDir = demoFolder(flags.dataDir ?? (process.env.BILLSYNC_DATA_DIR || null));
      const { playDemo } = await import('../demo/play-demo.ts');
      await playDemo({
        invoices: flags.invoices,
        seed: flags.seed,
        keep: flags.keep === true,
        quiet: flags.quiet === true,
        dataDir,
      });
    });
}

/**
 * @param wanted null: a fresh temporary folder
 * @throws CliError (exit 2) the folder is in use: the demo's invoices must never be added to others
 */
export function demoFolder(wanted: string | null): string {
  if (wanted === null) return mkdtempSync(join(tmpdir(), 'billsync-demo-'));
  const folder = resolve(wanted);
  if (existsSync(join(folder, 'environment')) && !existsSync(join(folder, 'sandbox'))) {
    throw new CliError(EXIT.usage, 'this data folder is in use, and not by a demo', {
      subject: folder,
      hint: 'name an empty folder with --data-dir, or unset BILLSYNC_DATA_DIR for a temporary one',
    });
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
