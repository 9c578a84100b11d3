import type { Command } from 'commander';
import type { ReconcileResult } from '../../workflows/reconcile.ts';
import { EXIT } from '../errors.ts';
import { onInterrupt } from '../terminal/interaction.ts';
import { type Run, verb } from '../verb.ts';
import { withTemporal } from '../with-temporal.ts';

interface Flags {
  readonly wait?: boolean;
  readonly dryRun?: boolean;
}

export function command(): Command {
  return verb(
    'reconcile',
    'Checks overdue and missing invoices, the inbox, the quarantine and every file of the warehouse now; `billsync schedule trigger` ' +
      'starts what the schedule does, which checks new files only.',
    'billsync reconcile --wait --json',
  )
    .option('--wait', 'wait until all checks are done; exit 1 if the warehouse differs from the archive')
    .option('--dry-run', 'show what would be done')
    .json()
    .run(async ({ settings, output, flags }: Run<Flags>) => {
      if (flags.dryRun === true) return output.note('Would reconcile.');
      const { requestReconcile, startReconcile } = await import('../../workflows/client/writer-client.ts');
      if (flags.wait !== true) {
        const workflowId = await withTemporal(settings, (client) =>
          startReconcile(client, settings, { isFull: true }),
        );
        output.thing({ workflow_id: workflowId }, () => workflowId);
        return output.note('Reconciling in the background; --wait shows the result.');
      }
      const progress = output.progress('Reconciling');
      output.note('The worker is reconciling.');
      const found = await withTemporal(settings, (client) =>
        onInterrupt('Stopped waiting; the worker continues.', () =>
          requestReconcile(client, settings, { isFull: true }, (done, of) =>
            progress.update(done, of, 'invoices verified'),
          ),
        ),
      ).finally(() => progress.end());
      output.thing(asJson(found), () => describe(found));
      if (found.proved.drift > 0) process.exitCode = EXIT.checkFailed;
    });
}

function asJson({ needAttention, proved: { invoices, shipments, drift }, ...found }: ReconcileResult) {
  const { until, watched, rechecked, retried, quarantined, forwarded, waiting, gaps, ingested } = found;
  return {
    ...{ until, watched, rechecked, retried, need_attention: needAttention, quarantined, forwarded },
    ...{ waiting, gaps, ingested, proved: { invoices, shipments, drift } },
  };
}

function describe({ proved, ...found }: ReconcileResult): string {
  return (
    `${found.watched} invoices watched, ${found.rechecked} checked again, ${found.retried} retried; ` +
    `${found.needAttention} need attention, ${found.quarantined} refused items wait; ` +
    `${found.forwarded} waiting deliveries forwarded, ${found.waiting} still wait; ` +
    `${found.gaps.length} gaps in expected invoices; ` +
    `verified ${proved.invoices} invoices, ${proved.shipments} shipments: ${proved.drift} differences`
  );
}
