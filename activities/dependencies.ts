/** The dependencies of the activities, provided by `worker/start-worker.ts` and by tests. */

import type { Logger } from 'pino';
import type { Archive } from '../archive/archive.ts';
import type { BillingService } from '../billing/billing-service.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { InvoiceEvent } from '../lib/wire/names.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { ScheduledReport, WarehouseActivities, WrittenReport } from '../workflows/activities.ts';

/** For the `billing` queue, which any number of processes may serve. */
export interface BillingDependencies {
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly log: Logger;
  /** The activity; absent in a process without a warehouse. */
  readonly loadInvoice?: WarehouseActivities['loadInvoice'];
}

/** For the `warehouse` queue, in the process of the single writer. */
export interface WarehouseDependencies {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  /** Only for the header of an imported file. */
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly metrics: Metrics;
  readonly readGaps: () => Promise<readonly Gap[]>;
  /** Replaces the file of the same day. */
  readonly writeReport: (scheduled: ScheduledReport) => Promise<WrittenReport>;
  readonly forwardOverdue: ForwardOverdue;
  readonly log: Logger;
  readonly settings: Settings;
  readonly now: () => Date;
}

/** A row of the report `gaps`: invoices that are missing by a tenant's usual interval or by the numbering. */
export interface Gap {
  readonly kind: 'period' | 'overdue' | 'number';
  /** Number of missing invoices. */
  readonly missing: number;
  /** For people. */
  readonly finding: string;
}

/** Forwards old entries of the endpoint's inbox; implemented by `webhook/forwarder.ts`. */
export type ForwardOverdue = (options: { readonly send: (event: InvoiceEvent) => Promise<void> }) => Promise<{
  readonly forwarded: number;
  readonly waiting: number;
  /** ISO 8601 UTC, of those that still wait. */
  readonly oldestReceivedAt: string | null;
}>;
