import type { Command } from 'commander';
import { counted } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { type Run, verb } from '../verb.ts';
import { withWriter } from '../writer.ts';

export function command(): Command {
  return verb(
    'snapshot',
    'Publishes reports.duckdb now, through the running worker or, without one, by itself.',
    'billsync snapshot --json',
  )
    .option('--dry-run', 'show what would be done')
    .json()
    .run(async ({ settings, output, flags }: Run<{ readonly dryRun?: boolean }>) => {
      if (flags.dryRun === true) return output.note(`Would publish to ${settings.dataDir}/reports.duckdb.`);
      const progress = output.progress('Publishing');
      const published = await withWriter(settings, {
        role: 'snapshot',
        async request(client) {
          const { requestSnapshot } = await import('../../workflows/client/writer-client.ts');
          return requestSnapshot(client, settings);
        },
        async direct(warehouse) {
          await warehouse.ingestArchive();
          return warehouse.publish();
        },
      }).finally(() => progress.end());
      const { sequence, publishedAt, path, invoices, shipments } = published;
      output.thing(
        { sequence, published_at: publishedAt, path, invoices, shipments },
        () =>
          `${printable(path)}: number ${sequence}, ${counted(invoices, 'invoice')}, ${counted(shipments, 'shipment')}`,
      );
    });
}
