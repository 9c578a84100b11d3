import type { Logger } from 'pino';
import type { Archive } from '../archive/archive.ts';
import type { BillingService } from '../billing/billing-service.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import type { InvoiceEvent } from '../lib/wire/invoice-event.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { ScheduledReport, WarehouseActivities, WrittenReport } from '../workflows/activities.ts';

export interface BillingDependencies {
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly log: Logger;
  readonly loadInvoice?: WarehouseActivities['loadInvoice'];
}

export interface WarehouseDependencies {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  readonly service: BillingService;
  readonly alerts: Alerts;
  readonly metrics: Metrics;
  readonly readGaps: () => Promise<readonly Gap[]>;
  readonly writeReport: (scheduled: ScheduledReport) => Promise<WrittenReport>;
  readonly forwardOverdue: ForwardOverdue;
  readonly log: Logger;
  readonly settings: Settings;
  readonly now: () => Date;
}

export interface Gap {
  readonly kind: 'period' | 'overdue' | 'number';
  readonly missing: number;
  readonly finding: string;
}

export type ForwardOverdue = (options: { readonly send: (event: InvoiceEvent) => Promise<void> }) => Promise<{
  readonly forwarded: number;
  readonly waiting: number;
  readonly oldestReceivedAt: string | null;
}>;
