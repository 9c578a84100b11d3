/** `billsync rebuild`: makes the warehouse again from the archive alone; the old file is kept beside it. */

import type { Command } from 'commander';
import { openArchive } from '../../archive/open-archive.js';
import { commandLog } from '../ask-temporal.js';
import { printable } from '../terminal-text.js';
import { contextOf, verb, withJson } from '../verb.js';

export function rebuildCommand(): Command {
  const command = verb(
    'rebuild',
    'Makes the warehouse again from the archive. Stop the worker first; the endpoint may go on. Nothing is deleted.',
    'billsync rebuild',
  ).option('--dry-run', 'say what would be done');
  return withJson(command).action(async (flags: { readonly dryRun?: boolean }, command: Command) => {
    const { settings, output } = contextOf(command);
    if (flags.dryRun === true)
      return output.note('Would make the warehouse again and keep the old file beside it.');
    const { rebuildWarehouse } = await import('../../warehouse/rebuild.js');
    const archive = await openArchive(settings);
    const progress = output.progress('Rebuilding');
    const rebuilt = await rebuildWarehouse({
      settings,
      archive,
      log: commandLog(settings),
      onProgress: ({ loadsDone, loadsOf }) => progress.update(loadsDone, loadsOf, 'loads'),
    }).finally(async () => {
      progress.end();
      await archive.close();
    });
    const { events, loads, publication, movedAside } = rebuilt;
    output.thing(
      {
        events,
        loads,
        invoices: publication.invoices,
        shipments: publication.shipments,
        sequence: publication.sequence,
        moved_aside: movedAside,
      },
      () =>
        `${publication.invoices} invoices, ${publication.shipments} shipments from ${events} events and ${loads} loads`,
    );
    if (movedAside !== null) output.note(`The old warehouse lies at ${printable(movedAside)}.`);
  });
}
