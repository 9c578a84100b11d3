/** Raises an alert for each invoice whose counting file contradicts the hash that the service named, as long as it counts. */

import { announcementAlert, differsFromAnnouncement } from '../activities/tell-announcement.ts';
import { openAlerts } from '../lib/alerts/alert-store.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Logger } from '../lib/log/log.ts';
import { NotPublishedError } from '../reports/errors.ts';
import { openPublishedFile } from '../reports/published-file.ts';
import type { Discrepancy } from '../warehouse/warehouse.ts';

interface AnnouncementWatchOptions {
  readonly publishedPath: string;
  /** `run` of the data folder: an alert that an earlier process raised is resolved, too. */
  readonly runFolder: string;
  readonly alerts: Alerts;
  readonly log: Logger;
}

export interface AnnouncementWatch {
  /** Reads what is published now: a load, a decision of a person or a command without this worker may have changed it. */
  published(): void;
  close(): Promise<void>;
}

export function watchAnnouncements(options: AnnouncementWatchOptions): AnnouncementWatch {
  const { alerts, log } = options;
  let raised: ReadonlySet<string> | null = null;
  let reading: Promise<void> | null = null;
  let isStale = false;

  async function read(): Promise<void> {
    raised ??= new Set(
      (await openAlerts(options.runFolder)).flatMap(({ key }) => /^announcement\/(.+)$/.exec(key)?.[1] ?? []),
    );
    const differs = await readContradicted(options.publishedPath);
    for (const invoiceId of raised) {
      if (!differs.has(invoiceId)) alerts.resolve(`announcement/${invoiceId}`);
    }
    for (const [invoiceId, discrepancies] of differs)
      alerts.raise(announcementAlert(invoiceId, discrepancies));
    raised = new Set(differs.keys());
  }

  async function readUntilFresh(): Promise<void> {
    while (isStale) {
      isStale = false;
      await read().catch((error: unknown) => {
        if (!(error instanceof NotPublishedError))
          log.error({ err: error }, 'announced hashes could not be compared with what is published');
      });
    }
    reading = null;
  }

  function published(): void {
    isStale = true;
    reading ??= readUntilFresh();
  }

  published();
  return {
    published,
    async close() {
      await reading;
    },
  };
}

async function readContradicted(path: string): Promise<ReadonlyMap<string, readonly Discrepancy[]>> {
  const file = await openPublishedFile(path);
  try {
    const result = await file.query(
      'select invoice_id::varchar, rule, stated, found from discrepancies order by invoice_id, rule',
    );
    const rows = result.getRows().map(([invoiceId, rule, stated, found]) => ({
      invoiceId: String(invoiceId),
      discrepancy: { rule: String(rule), stated: String(stated), found: String(found) },
    }));
    const differing = rows.filter(({ discrepancy }) => differsFromAnnouncement(discrepancy));
    const byInvoice = new Map<string, Discrepancy[]>();
    for (const { invoiceId, discrepancy } of differing) {
      byInvoice.set(invoiceId, [...(byInvoice.get(invoiceId) ?? []), discrepancy]);
    }
    return byInvoice;
  } finally {
    file.close();
  }
}
