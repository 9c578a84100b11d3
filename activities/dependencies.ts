/** What activities are built from; `worker/start-worker.ts` wires it, tests hand in what they like. */

import type { Logger } from 'pino';
import type { Archive } from '../archive/archive.js';
import type { BillingService } from '../billing/billing-service.js';
import type { Settings } from '../config/settings.js';
import type { Quarantine } from '../contract/quarantine.js';
import type { Alerts } from '../ops/alerts.js';
import type { Warehouse } from '../warehouse/warehouse.js';

/** The worker of the `billing` queue; any number of them run side by side. */
export interface BillingDependencies {
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly log: Logger;
}

/** The worker of the `warehouse` queue: the one process that holds the writer. */
export interface WarehouseDependencies {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  /** Asked for the header of an imported file only. */
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly log: Logger;
  readonly settings: Settings;
  readonly now: () => Date;
}
