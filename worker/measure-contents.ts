/** Measures what readers see and what waits in quarantine, so that neither has to be asked for to be watched. */

import type { Metrics } from '../lib/metrics.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import { NotPublishedError } from '../reports/errors.ts';
import { openPublishedFile } from '../reports/published-file.ts';

const STATES = ['draft', 'finalized', 'loaded', 'voided', 'needs_attention'] as const;
const QUARANTINE_EVERY_MS = 10_000;

/** @returns to be told of each publication, with the shipments that it holds */
export function measureContents({
  metrics,
  quarantine,
  publishedPath,
}: {
  readonly metrics: Metrics;
  readonly quarantine: Pick<Quarantine, 'list'>;
  readonly publishedPath: string;
}): { published(): void } {
  const invoices = metrics.gauge('invoices');
  const shipments = metrics.gauge('shipments');
  const depth = metrics.gauge('quarantine_depth');
  /** The file is opened when it has changed, not whenever somebody scrapes. */
  let isMeasured = false;
  metrics.beforeRead(async () => {
    if (isMeasured) return;
    isMeasured = true;
    try {
      const counted = await countPublished(publishedPath);
      for (const state of STATES) invoices.set({ state }, counted.states.get(state) ?? 0);
      shipments.set(counted.shipments);
    } catch (error) {
      isMeasured = error instanceof NotPublishedError;
    }
  }, 5_000);
  metrics.beforeRead(async () => {
    const held = await quarantine.list();
    for (const kind of ['delivery', 'file'] as const)
      depth.set({ kind }, held.filter((thing) => thing.kind === kind).length);
  }, QUARANTINE_EVERY_MS);
  return {
    published() {
      isMeasured = false;
    },
  };
}

async function countPublished(path: string) {
  const file = await openPublishedFile(path);
  try {
    const states = await file.query('select state, count(*) from invoices group by state');
    const publication = await file.query('select shipments from publication');
    return {
      states: new Map(states.getRows().map(([state, count]) => [String(state), Number(count)])),
      shipments: Number(publication.getRows()[0]?.[0] ?? 0),
    };
  } finally {
    file.close();
  }
}
