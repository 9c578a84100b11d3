/** `billsync demo`: the whole story on this machine, in under a minute, with the proof that every cent is right. */

import type { Command } from 'commander';
import { demoFolder } from '../demo/demo-folder.ts';
import { FEWEST_INVOICES } from '../demo/faults.ts';
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
