import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { MIN_INVOICES } from '../demo/story.ts';
import { CliError, EXIT } from '../errors.ts';
import { positiveInteger, verb } from '../verb.ts';

interface DemoFlags {
  readonly invoices: number;
  readonly seed: number;
  readonly keep?: boolean;
  readonly quiet?: boolean;
  readonly dataDir?: string;
}

export function command(): Command {
  return verb(
    'demo',
    'Runs everything on this machine: a simulated billing service with faults that occur in practice, Temporal, the endpoint ' +
      'and the worker. Then it prints the reports and proves that they equal what the service billed.',
    'billsync demo\nbillsync demo --invoices 60 --seed 7 --keep',
  )
    .option('--invoices <number>', 'number of invoices', positiveInteger, 36)
    .option('--seed <number>', 'seed of the generated ids, amounts and texts', positiveInteger, 1)
    .option('--keep', 'keep everything running until Ctrl-C')
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<DemoFlags>();
      if (flags.invoices < MIN_INVOICES) {
        throw new CliError(EXIT.usage, `the demo needs at least ${MIN_INVOICES} invoices`, {
          hint: `billsync demo --invoices ${MIN_INVOICES}`,
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

export function demoFolder(given: string | null): string {
  if (given === null) return mkdtempSync(join(tmpdir(), 'billsync-demo-'));
  const folder = resolve(given);
  if (existsSync(join(folder, 'environment')) && !existsSync(join(folder, 'sandbox'))) {
    throw new CliError(EXIT.usage, 'this data folder is in use by something else than a demo', {
      subject: folder,
      hint: 'name an empty folder with --data-dir, or unset BILLSYNC_DATA_DIR for a temporary one',
    });
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
