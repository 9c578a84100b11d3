/**
 * What of the product is real in a simulation: inbox, archive, quarantine, warehouse and every activity, on one data
 * folder that outlives restarts. Many seeds may live in one folder, since their invoices have nothing in common.
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createBillingActivities, createWarehouseActivities } from '../../activities/create-activities.ts';
import type { Archive, Fact } from '../../archive/archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings } from '../../config/settings.ts';
import type { Quarantine } from '../../contract/quarantine.ts';
import { type Inbox, openInbox } from '../../inbox/inbox.ts';
import { openQuarantine } from '../../inbox/quarantine-folder.ts';
import { createMetrics } from '../../ops/metrics.ts';
import { openWarehouse } from '../../warehouse/open-warehouse.ts';
import { rebuildWarehouse } from '../../warehouse/rebuild-warehouse.ts';
import type { DueInvoice, Warehouse } from '../../warehouse/warehouse.ts';

/** What one seed lends the product while it plays. */
export interface Tenant {
  readonly now: () => Date;
  readonly service: BillingService;
  /** Invoices of other seeds are none of its business. */
  readonly isOurs: (invoiceId: string) => boolean;
}

export interface SimulatedProduct {
  readonly dataDir: string;
  readonly settings: Settings;
  readonly archive: Archive;
  readonly inbox: Inbox;
  readonly quarantine: Quarantine;
  readonly warehouse: () => Warehouse;
  readonly activities: () => Readonly<Record<string, (input: never) => Promise<unknown>>>;
  letTo(tenant: Tenant): void;
  /** Closes what a worker holds and opens it again, as the next process would find it. */
  restart(): Promise<void>;
  /** The warehouse is made again from the archive alone, and worked with from then on. */
  rebuild(): Promise<void>;
  close(): Promise<void>;
}

export const PARTNER_ID = '99999999-9999-4999-8999-999999999999';
const log = pino({ level: 'silent' });

/** @param forgets a kind of fact that a rebuild does not take in, as a broken one would not */
export async function openSimulatedProduct(forgets: Fact['kind'] | null = null): Promise<SimulatedProduct> {
  const dataDir = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'simulation-'));
  const env = { BILLSYNC_DATA_DIR: dataDir, BILLSYNC_PARTNER_ID: PARTNER_ID };
  const settings = loadSettings({ cwd: dataDir, env });
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  async function* factsAfter(...asked: Parameters<Archive['factsAfter']>) {
    for await (const told of archive.factsAfter(...asked)) if (told.fact.kind !== forgets) yield told;
  }
  const inbox = await openInbox(join(dataDir, 'inbox'));
  const quarantine = await openQuarantine(join(dataDir, 'quarantine'));
  let tenant: Tenant | null = null;
  const rented = (): Tenant => {
    if (tenant === null) throw new Error('Nobody lives here.');
    return tenant;
  };
  const now = (): Date => tenant?.now() ?? new Date();
  const open = (): Promise<Warehouse> => openWarehouse({ settings, archive, log, now });
  let warehouse = await open();
  let activities = build();

  function build() {
    const alerts = { raise: () => {}, resolve: () => {}, close: async () => {} };
    const service = lazy(() => rented().service);
    const invoices: Warehouse['invoices'] = async (filter) =>
      (await warehouse.invoices(filter)).filter(({ invoiceId }) => rented().isOurs(invoiceId));
    const due: Warehouse['due'] = async (request) => {
      const { unfinished, toRecheck, toRetry, ...others } = await warehouse.due(request);
      const ours = (invoices: readonly DueInvoice[]) =>
        invoices.filter(({ invoiceId }) => rented().isOurs(invoiceId));
      return {
        ...others,
        unfinished: ours(unfinished),
        toRecheck: ours(toRecheck),
        toRetry: ours(toRetry),
      };
    };
    const ofWarehouse = createWarehouseActivities({
      ...{ archive, quarantine, service, alerts, log, settings, now, metrics: createMetrics('worker') },
      warehouse: lazy(() => warehouse, { invoices, due }),
      readGaps: async () => [],
      forwardWaiting: async () => ({ forwarded: 0, waiting: 0, oldestReceivedAt: null }),
    });
    const { loadInvoice } = ofWarehouse;
    return { ...createBillingActivities({ service, alerts, log, loadInvoice }), ...ofWarehouse };
  }

  return {
    ...{ dataDir, settings, archive, inbox, quarantine },
    warehouse: () => warehouse,
    activities: () => activities as unknown as ReturnType<SimulatedProduct['activities']>,
    letTo(next) {
      tenant = next;
    },
    async restart() {
      await warehouse.close();
      warehouse = await open();
      activities = build();
    },
    async rebuild() {
      await warehouse.close();
      try {
        await rebuildWarehouse({ settings, archive: lazy(() => archive, { factsAfter }), log, now });
      } finally {
        warehouse = await open();
        activities = build();
      }
    },
    async close() {
      await warehouse.close();
      await archive.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Whatever the target is when a method is called, with some of its methods replaced. */
function lazy<T extends object>(target: () => T, replaced: Partial<T> = {}): T {
  return new Proxy({} as T, {
    get(_, name) {
      const current = target() as Record<string | symbol, unknown>;
      const value = (replaced as Record<string | symbol, unknown>)[name] ?? current[name];
      return typeof value === 'function' ? value.bind(current) : value;
    },
  });
}

/** A disk in memory, where there is one: durability is proved elsewhere, by kills of real processes. */
function memoryFolder(): string | null {
  return statSync('/dev/shm', { throwIfNoEntry: false })?.isDirectory() === true ? '/dev/shm' : null;
}
