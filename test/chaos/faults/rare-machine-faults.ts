/** Faults of the disk, the inbox, the archive and the network: for the alerts that none of the thirty raises. */

import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { encodeEntry } from '../../../webhook/inbox/inbox.ts';
import { aDelivery } from '../../webhook/a-delivery.ts';
import { acknowledge, run } from './invoice-faults.ts';
import { loaded, type RareFault, rare, rebuild, restartWorker, untilLoaded } from './rare-faults.ts';
import type { RareStage } from './rare-stage.ts';

const MIB = 1024 ** 2;

/** A delivery received twenty minutes ago that the archive cannot store. @returns the path of the file that blocks it */
function blockDelivery({ product, sandbox }: RareStage): string {
  const eventId = randomUUID();
  const shard = join(product.dataDir, 'archive', 'events', eventId.slice(0, 2));
  rmSync(`${shard}.away`, { recursive: true, force: true });
  try {
    renameSync(shard, `${shard}.away`);
  } catch {
    mkdirSync(`${shard}.away`);
  }
  writeFileSync(shard, '');
  const { body, invoiceId } = aDelivery({ metadata: { eventId, partnerId: sandbox.partnerId } });
  const receivedAt = new Date(Date.now() - 20 * 60_000).toISOString();
  const entry = { kind: 'event', eventId, receivedAt, invoiceId, code: null } as const;
  writeFileSync(join(product.dataDir, 'inbox', 'pending', eventId), encodeEntry(entry, 1, Buffer.from(body)));
  return shard;
}

function unblock(shard: string): void {
  rmSync(shard);
  renameSync(`${shard}.away`, shard);
}

let shard = '';
let waiting = '';
let sockets: readonly Socket[] = [];

export const RARE_MACHINE_FAULTS: readonly RareFault[] = [
  rare('expiry', 'the certificate of the endpoint expires in five days', {
    metric: 'billsync_component_up\\{component="certificate",role="worker"\\} 0',
    async inject(stage) {
      stage.certify(5);
      return null;
    },
    async cure(stage) {
      stage.certify(400);
    },
  }),
  {
    ...rare('expiry', 'the certificate that billsync presents to the service expires in five days', {
      metric: 'billsync_component_up\\{component="client certificate",role="worker"\\} 0',
      async inject(stage) {
        stage.certifyClient(5);
        return null;
      },
      async cure(stage) {
        stage.certifyClient(400);
      },
    }),
    name: 'expiry of the client certificate',
  },
  rare('webhook/connections', '1,300 silent connections', {
    metric: 'billsync_webhook_connections_ended_total\\{reason="[a-z ]+",role="webhook"\\} [1-9]',
    async inject({ product }) {
      const { port, hostname } = new URL(product.webhookUrl);
      sockets = Array.from({ length: 1_300 }, () =>
        connect(Number(port), hostname).on('error', () => undefined),
      );
      return null;
    },
    async cure(stage, alert) {
      for (const socket of sockets) socket.destroy();
      await acknowledge(stage, alert);
    },
  }),
  rare('forwarder/backlog', 'the archive cannot store a delivery received twenty minutes ago', {
    metric: 'billsync_inbox_backlog_age_seconds\\{role="webhook"\\} [1-9]\\d{3}',
    async inject(stage) {
      shard = blockDelivery(stage);
      return null;
    },
    cure: async () => unblock(shard),
  }),
  rare('inbox/left-behind', 'the same, and the reconciliation runs', {
    metric: 'billsync_inbox_backlog\\{role="webhook"\\} [1-9]',
    async inject(stage) {
      shard = blockDelivery(stage);
      await run(stage, 'reconcile', '--wait');
      return null;
    },
    async cure(stage) {
      unblock(shard);
      await run(stage, 'reconcile', '--wait');
    },
  }),
  rare('ingest', 'a folder in the place of the journal of events', {
    metric: 'billsync_component_up\\{component="ingest",role="worker"\\} 0',
    async inject(stage) {
      const journal = join(stage.product.dataDir, 'archive', 'events', 'journal');
      renameSync(journal, `${journal}.away`);
      mkdirSync(journal);
      return null;
    },
    async cure(stage) {
      const journal = join(stage.product.dataDir, 'archive', 'events', 'journal');
      rmSync(journal, { recursive: true });
      renameSync(`${journal}.away`, journal);
    },
  }),
  rare('archive', 'the archive’s volume is gone, an empty folder in its place, and an invoice comes', {
    metric: 'billsync_component_up\\{component="archive",role="worker"\\} 0',
    async inject({ product, sandbox }) {
      const archive = join(product.dataDir, 'archive');
      renameSync(archive, `${archive}.away`);
      mkdirSync(archive);
      const { invoiceId } = await sandbox.createInvoice({ shipments: 2 });
      await sandbox.finalize(invoiceId);
      waiting = invoiceId;
      return null;
    },
    async cure(stage) {
      const archive = join(stage.product.dataDir, 'archive');
      rmdirSync(archive);
      renameSync(`${archive}.away`, archive);
      await untilLoaded(stage, waiting);
    },
  }),
  rare('disk/full', '48 MiB are left on the disk', {
    metric: 'billsync_disk_free_bytes\\{role="worker"\\} \\d{8}$',
    async inject(stage) {
      stage.leaveFree(48 * MIB);
      return null;
    },
    cure: async (stage) => stage.leaveFree(1024 * MIB),
  }),
  rare('disk/no-room', '70 MiB are left, 64 of which stay free, and a file of 9 MB comes', {
    async inject(stage) {
      const { sandbox } = stage;
      const { invoiceId } = await sandbox.createInvoice({ shipments: 60_000 });
      stage.leaveFree(70 * MIB);
      await sandbox.finalize(invoiceId);
      return null;
    },
    async cure(stage) {
      stage.leaveFree(1024 * MIB);
      await loaded(stage);
    },
  }),
  rare('warehouse/losses', 'warehouse garbled, archived files away, worker killed', {
    metric: 'billsync_process_restarts_total\\{process="worker",role="up"\\} [1-9]',
    async inject(stage) {
      const { dataDir } = stage.product;
      const files = join(dataDir, 'archive', 'files');
      await loaded(stage);
      await restartWorker(stage);
      renameSync(files, `${files}.away`);
      mkdirSync(files);
      rmSync(join(dataDir, 'warehouse.duckdb.wal'), { force: true });
      writeFileSync(join(dataDir, 'warehouse.duckdb'), Buffer.alloc(65_536, 7));
      return null;
    },
    async cure(stage, alert) {
      const files = join(stage.product.dataDir, 'archive', 'files');
      rmSync(files, { recursive: true });
      renameSync(`${files}.away`, files);
      await rebuild(stage);
      await acknowledge(stage, alert);
    },
  }),
];
