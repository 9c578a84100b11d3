import { heartbeat } from '@temporalio/activity';
import { publicationGauges } from '../warehouse/publication-loop.ts';
import type { WarehouseActivities } from '../workflows/activities.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { heartbeatEvery } from './heartbeat.ts';

/** The log and the result have at most this many differences; `billsync verify` without a worker lists all of them. */
const MAX_DRIFT = 200;
const HEARTBEAT_INTERVAL_MS = 1_000;
const FULL = 'full verification';

export function createWarehouseWideActivities({
  warehouse,
  metrics,
  alerts,
  log,
  writeReport,
}: WarehouseDependencies): Pick<WarehouseActivities, 'publishSnapshot' | 'verifyWarehouse' | 'writeReport'> {
  const recordPublication = publicationGauges(metrics);
  return {
    async publishSnapshot() {
      await warehouse.ingestArchive();
      const publication = await warehouse.publish();
      recordPublication(publication);
      return publication;
    },

    async verifyWarehouse({ full }) {
      let progress: unknown = null;
      const heartbeats = heartbeatEvery(HEARTBEAT_INTERVAL_MS, () => heartbeat(progress));
      try {
        await tidyLake();
        const verification = await warehouse.verify({
          full,
          onProgress: (done, of) => {
            progress = { done, of };
          },
        });
        const { drift } = verification;
        const [first] = drift;
        if (first === undefined) alerts.resolve('drift', full ? { check: FULL } : {});
        else {
          log.error({ drift: drift.slice(0, MAX_DRIFT) }, 'the warehouse differs from the archive');
          alerts.raise({
            key: 'drift',
            ...(full ? { check: FULL } : {}),
            title: 'The warehouse differs from the archive',
            detail: `${drift.length} differences, the first: invoice ${first.invoiceId} ${first.rule}. \`billsync verify\` lists them. Restore the lost files of the archive; then stop the worker and run \`billsync rebuild\`.`,
          });
        }
        return { ...verification, drift: drift.slice(0, MAX_DRIFT), driftInAll: drift.length };
      } finally {
        heartbeats.stop();
      }
    },

    async writeReport(scheduled) {
      const failedKey = `report-failed/${scheduled.name}` as const;
      try {
        const written = await writeReport(scheduled);
        alerts.resolve(failedKey);
        alerts.raise({
          // Each written file has an alert key of its own, so that no quiet window suppresses the notification.
          key: `report/${written.path}`,
          title: `The scheduled report ${scheduled.name} is written: ${written.path}`,
          detail: written.about,
        });
        return written;
      } catch (error) {
        alerts.raise({
          key: failedKey,
          title: `The scheduled report ${scheduled.name} could not be written`,
          detail: `${error instanceof Error ? error.message : String(error)} It is retried for an hour; "billsync report --schedule show" lists the schedules.`,
        });
        throw error;
      }
    },
  };

  /** A failure to tidy the lake must not prevent the verification. */
  async function tidyLake(): Promise<void> {
    try {
      const tidied = await warehouse.tidy?.();
      if (tidied) log.info(tidied, 'the lake was tidied');
    } catch (error) {
      log.error({ err: error }, 'the lake could not be tidied');
    }
  }
}
