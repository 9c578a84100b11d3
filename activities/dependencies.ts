/** What activities are built from; `worker/start-worker.ts` wires it, tests hand in what they like. */

import type { Logger } from 'pino';
import type { Archive } from '../archive/archive.ts';
import type { BillingService } from '../billing/billing-service.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { InvoiceEvent } from '../lib/wire/names.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import type { LoadRequest, Warehouse } from '../warehouse/warehouse.ts';
import type { Gap } from './find-gaps.ts';
import type { LoadInvoiceResult } from './load-invoice.ts';

/** The worker of the `billing` queue; any number of them run side by side. */
export interface BillingDependencies {
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly log: Logger;
  /** The activity of that name; missing where no warehouse is at hand. */
  readonly loadInvoice?: (request: LoadRequest) => Promise<LoadInvoiceResult>;
}

/** The worker of the `warehouse` queue: the one process that holds the writer. */
export interface WarehouseDependencies {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  /** Asked for the header of an imported file only. */
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly metrics: Metrics;
  /** What should have come and did not, as the published report `gaps` tells. */
  readonly readGaps: () => Promise<readonly Gap[]>;
  readonly forwardOverdue: ForwardOverdue;
  readonly log: Logger;
  readonly settings: Settings;
  readonly now: () => Date;
}

/** Forwards what the endpoint's inbox has held for long; `webhook/forwarder.ts` does it. */
export type ForwardOverdue = (options: { readonly send: (event: InvoiceEvent) => Promise<void> }) => Promise<{
  readonly forwarded: number;
  readonly waiting: number;
  /** ISO 8601 UTC of the oldest that is still there. */
  readonly oldestReceivedAt: string | null;
}>;
