/**
 * A hundred thousand invoices as a backfill meets them: a real service that has them, a warehouse that has loaded most
 * of them, and a few of everything that can have gone wrong meanwhile. Knows what has to come of each.
 */

import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Sandbox } from '../../sandbox/service.ts';
import { aWarehouse, settingsFor } from '../warehouse/support.ts';

export const KINDS = {
  unchanged: 'loaded',
  /** Finalized, and nobody said us. */
  unheard: 'loaded',
  /** Loaded, and the service has another file since. */
  changed: 'loaded',
  /** Loaded, then voided without a word. */
  lostVoid: 'voided',
  knownVoid: 'voided',
  draft: 'draft',
  unknown: 'unknown',
} as const;
export type Kind = keyof typeof KINDS;

/** Of a thousand; the rest is unchanged. */
const SHARES: Readonly<Record<Exclude<Kind, 'unchanged'>, number>> = {
  ...{ unheard: 10, changed: 1, lostVoid: 3, knownVoid: 10, draft: 2, unknown: 30 },
};

/** What the ledger has of these before anything begins. */
const IN_THE_LEDGER = new Set<Kind>(['unchanged', 'changed', 'lostVoid', 'knownVoid']);

export interface MixedInvoice {
  readonly invoiceId: string;
  readonly kind: Kind;
  /** Of the service, decimal text; empty for one that it does not know. */
  readonly total: string;
  readonly sha256: string;
}

/** Makes them at the service, kinds strewn evenly over the ids. */
export async function makeMix(sandbox: Sandbox, count: number): Promise<readonly MixedInvoice[]> {
  const kinds = Object.entries(SHARES).flatMap(([kind, share]) => Array<Kind>(share).fill(kind as Kind));
  const ofAThousand = Array.from({ length: 1_000 }, (_, place): Kind => {
    // 389 has no divisor in common with a thousand, so each place is met once.
    return kinds[(place * 389) % 1_000] ?? 'unchanged';
  });
  const mix: MixedInvoice[] = [];
  for (let made = 0; made < count; made += 1) {
    mix.push(await makeOne(sandbox, ofAThousand[made % 1_000] ?? 'unchanged'));
  }
  return mix;
}

async function makeOne(sandbox: Sandbox, kind: Kind): Promise<MixedInvoice> {
  if (kind === 'unknown') return { invoiceId: randomUUID(), kind, total: '', sha256: '' };
  const { invoiceId, totalAmount, file } = await sandbox.createInvoice({ shipments: 1 });
  if (kind !== 'draft') await sandbox.finalize(invoiceId);
  if (kind === 'lostVoid' || kind === 'knownVoid') sandbox.cancel(invoiceId);
  return { invoiceId, kind, total: totalAmount, sha256: file.sha256 };
}

/** Puts what is loaded already into a new warehouse, without the files: a load of each would take an hour. */
export async function seedWarehouse(
  dataDir: string,
  { mix, partnerId }: { readonly mix: readonly MixedInvoice[]; readonly partnerId: string },
): Promise<void> {
  const made = await aWarehouse({ settings: settingsFor(dataDir) });
  await made.warehouse.close();
  await made.archive.close();
  const path = join(dataDir, 'seed.ndjson');
  const lines = mix.filter(({ kind }) => IN_THE_LEDGER.has(kind));
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const instance = await DuckDBInstance.create(join(dataDir, 'warehouse.duckdb'));
  const connection = await instance.connect();
  for (const statement of seeding(path, partnerId)) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
  await rm(path);
}

function seeding(path: string, partnerId: string): readonly string[] {
  return [
    `create temp table seed as
       select *, row_number() over ()::integer as load_id, now()::timestamp - interval 5 minutes as instant,
         (total::decimal(18, 4) + if(kind = 'changed', 1, 0))::decimal(18, 4) as cost
       from read_json('${path}', columns = {invoiceId: 'uuid', kind: 'varchar', total: 'varchar', sha256: 'varchar'})`,
    `insert into internal.loads by name
       select load_id, invoiceId as invoice_id, 1 as version, if(kind = 'changed', repeat('0', 64), sha256) as file_sha256,
         300 as file_size_bytes, 'event' as file_source, file_sha256 as announced_sha256, 'Tenant' as tenant, 1 as shipments,
         cost as billing_cost, 'USD' as currency_code, 'USD' as currencies, true as ends_with_line_end, instant as loaded_at
       from seed`,
    `insert into internal.shipment_rows by name
       select load_id, 1 as row_number, 'Tenant' as tenant, instant::date as invoice_generation_date, instant::date as ship_date,
         'USD' as currency_code, cost as billing_cost, 'T' || load_id as tracking_number, 'ups' as carrier
       from seed`,
    `insert into internal.invoice_state by name
       select invoiceId as invoice_id, if(kind = 'knownVoid', 'voided', 'loaded') as state, instant as state_since,
         load_id as current_load_id, 'hash' as proof, '${partnerId}' as partner_id, 'tenant' as invoice_level,
         'USD' as currency_code, cost::varchar as stated_total, 1 as stated_shipments, instant as first_seen_at,
         instant as finalized_at, instant as loaded_at, if(kind = 'knownVoid', instant, null) as voided_at, 1 as versions
       from seed`,
    // What was published before is in the archive, for whoever opens the warehouse.
    `insert into internal.publication_log by name
       select 1 as sequence, max(instant) as published_at, count(*) as invoices, count(*) as loaded_invoices,
         count(*) as shipments, 0 as events, max(load_id) as last_load_id
       from seed`,
  ];
}
