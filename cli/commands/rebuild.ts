import type { Command } from 'commander';
import { openArchive } from '../../archive/open-archive.ts';
import { refuseOpenToAll } from '../../lib/files/private-folder.ts';
import type { CompletedRebuild, RebuildOutcome } from '../../warehouse/rebuild.ts';
import { EXIT } from '../errors.ts';
import { onInterrupt } from '../terminal/interaction.ts';
import { counted, type Output, paceOf } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { type Run, verb } from '../verb.ts';
import { commandLog } from '../with-temporal.ts';
import { requireRecords, requireRecordsIn } from '../writer.ts';

interface RebuildFlags {
  readonly dryRun?: boolean;
  readonly acceptLoss?: boolean;
}

export function command(): Command {
  return verb(
    'rebuild',
    'Rebuilds the warehouse from the archive. Stop the worker first; the endpoint may keep running. Nothing is deleted. ' +
      'Exit 1 if the archive lacks records: the old warehouse then stays, unless --accept-loss is given.',
    'billsync rebuild',
  )
    .option('--dry-run', 'build the new warehouse and show its contents and losses, but replace nothing')
    .option('--accept-loss', 'replace the warehouse even if the new one contains less')
    .json()
    .audited()
    .run(async ({ settings, output, flags }: Run<RebuildFlags>) => {
      requireRecords(settings);
      await refuseOpenToAll(settings.dataDir);
      const { rebuildWarehouse, dryRunRebuild } = await import('../../warehouse/open-warehouse.ts');
      const { RebuildLossError } = await import('../../warehouse/rebuild.ts');
      const archive = await openArchive(settings);
      const progress = output.progress('Rebuilding');
      const pace = paceOf('loads');
      const options = {
        settings,
        archive,
        log: commandLog(settings),
        acceptLoss: flags.acceptLoss === true,
        onProgress: (done: number, of: number) => progress.update(done, of, pace(done, of)),
      };
      try {
        if (flags.dryRun === true) printDryRun(output, await dryRunRebuild(options));
        else printRebuilt(output, await onInterrupt(STOPPED, () => rebuildWarehouse(options)));
        await requireRecordsIn(archive, settings);
      } catch (error) {
        if (error instanceof RebuildLossError) printOutcome(output, error.outcome, null);
        throw error;
      } finally {
        progress.end();
        await archive.close();
      }
    });
}

const STOPPED = 'Stopped. Nothing is deleted; run the command again.';

function printDryRun(output: Output, made: RebuildOutcome): void {
  printOutcome(output, made, null);
  output.note('Nothing was replaced. A rebuild would keep the old warehouse beside the new one.');
  if (made.holdsLess)
    output.warn('It would contain less than the warehouse, and is refused without --accept-loss.');
}

function printRebuilt(output: Output, rebuilt: CompletedRebuild): void {
  printOutcome(output, rebuilt, rebuilt);
  if (rebuilt.movedAside !== null)
    output.note(`The old warehouse is kept at ${printable(rebuilt.movedAside)}.`);
}

function printOutcome(output: Output, made: RebuildOutcome, rebuilt: CompletedRebuild | null): void {
  const { events, loads, invoices, shipments, losses, purgedLoads = 0 } = made;
  if (purgedLoads > 0)
    output.note(
      `${counted(purgedLoads, 'load')} left out: their files were purged, and no total counts them.`,
    );
  if (losses.length > 0) process.exitCode = EXIT.checkFailed;
  if (output.form === 'table') {
    output.rows(losses, [
      { title: 'invoice', value: ({ invoiceId }) => invoiceId ?? '' },
      { title: 'load', value: ({ loadId }) => `${loadId ?? ''}`, align: 'right' },
      { title: 'file', value: ({ sha256 }) => sha256 ?? '' },
      { title: 'cannot be rebuilt', value: ({ why }) => why },
    ]);
  }
  output.thing(
    {
      events,
      loads,
      invoices,
      shipments,
      sequence: rebuilt?.publication.sequence ?? null,
      moved_aside: rebuilt?.movedAside ?? null,
      is_replaced: rebuilt !== null,
      purged_loads: purgedLoads,
      losses: losses.map(({ invoiceId, loadId, sha256, why }) => ({
        invoice_id: invoiceId,
        load_id: loadId,
        file_sha256: sha256,
        why,
      })),
    },
    () => {
      const summary = `${counted(invoices, 'invoice')}, ${counted(shipments, 'shipment')} from ${counted(events, 'event')} and ${counted(loads, 'load')}`;
      return rebuilt === null ? `The archive yields ${summary}` : summary;
    },
  );
}
