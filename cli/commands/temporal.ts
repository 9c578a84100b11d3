import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CliError, EXIT } from '../errors.ts';
import { counted } from '../terminal/output.ts';
import { type Run, verb } from '../verb.ts';

export function command(): Command {
  return temporalRole().addCommand(resetCommand());
}

function resetCommand(): Command {
  return verb(
    'reset',
    'Replaces a damaged database of the embedded Temporal server: keeps the old one and sends every received event to an empty one.',
    'billsync temporal reset --dry-run',
  )
    .option('--dry-run', 'show what would be done')
    .audited()
    .run(async ({ settings, output, flags }: Run<{ readonly dryRun?: boolean }>) => {
      const { dataDir } = settings;
      if (!existsSync(join(dataDir, 'temporal', 'temporal.db')))
        throw new CliError(EXIT.nothingMatched, `no embedded Temporal server has a database in ${dataDir}`);
      if (flags.dryRun === true) {
        output.note(`Would move ${dataDir}/temporal/temporal.db aside and send every received event again.`);
        return;
      }
      const { moveDatabaseAside, startEmbeddedTemporal } = await import('../../lib/temporal/embedded.ts');
      const { commandLog, replayArchived: replay } = await import('../with-temporal.ts');
      const aside = await moveDatabaseAside(dataDir, new Date());
      const server = await startEmbeddedTemporal({ dataDir, log: commandLog(settings) });
      const progress = output.progress('Replaying');
      let done = 0;
      try {
        const onEvent = (): void => progress.update(++done, null);
        const sent = await replay(settings, { dryRun: false, onEvent });
        output.note(
          `The database is now ${aside}; sent ${counted(sent, 'event')} again. \`billsync up\` goes on.`,
        );
      } finally {
        progress.end();
        await server.stop();
      }
    });
}

function temporalRole(): Command {
  return verb(
    'temporal',
    'Runs the embedded Temporal server, at TEMPORAL_ADDRESS if that is set. Its database is in the data folder.',
    'TEMPORAL_ADDRESS=127.0.0.1:7233 billsync temporal',
  ).action(async (_flags: unknown, command: Command) => {
    const { runRole } = await import('../roles/run-role.ts');
    const { startTemporalRole } = await import('../roles/up-role.ts');
    await runRole(command, 'temporal-server', startTemporalRole);
  });
}
