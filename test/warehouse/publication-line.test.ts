import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../warehouse/duckdb/database.ts';
import { migrate } from '../../warehouse/duckdb/schema.ts';
import type { Session } from '../../warehouse/duckdb/session.ts';

async function aDatabase(): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'billsync-line-'));
  const path = join(folder, 'a.duckdb');
  const database = await Database.open({ path, folders: [], temporaryFolder: folder, memoryLimit: null });
  onTestFinished(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await migrate(database, new Date('2026-03-01T00:00:00Z'));
  return database;
}

async function fill(session: Session): Promise<void> {
  await session.script(`
    create temp table told as
    select n, md5(n::varchar)::uuid as invoice_id, n % 4 as versions, hash(n, 'voided') % 5 = 0 as is_voided
    from range(200) as r(n);
    insert into loads by name
    select
        row_number() over (order by n, version)::integer as load_id, invoice_id, version::integer as version,
        'a' as file_sha256, 1 as file_size_bytes, 'event' as file_source, 1 + hash(n, version) % 90 as shipments,
        1 as billing_cost, 'USD' as currencies, true as ends_with_line_end, timestamp '2026-03-01' as loaded_at
    from told, range(1, versions + 1) as v(version);
    insert into invoice_state by name
    select
        invoice_id, if(versions = 0, 'draft', if(is_voided, 'voided', 'loaded')) as state, timestamp '2026-03-01' as state_since,
        (select min(load_id) + n % versions from loads as l where l.invoice_id = t.invoice_id)::integer as current_load_id,
        if(is_voided, timestamp '2026-03-02', null) as voided_at, timestamp '2026-03-01' as first_seen_at,
        versions::integer as versions
    from told as t`);
}

/** As a reader counts them. */
async function expected(session: Session) {
  const [row] = await session.statement(`
    select count(*)::varchar as loaded_invoices, sum(l.shipments)::varchar as shipments
    from invoice_state as i
    join loads as l on l.load_id = i.current_load_id
    where i.voided_at is null`);
  return row;
}

async function line(session: Session) {
  await session.all('insert-publication', { published_at: '2026-03-03T00:00:00Z', above: 0 });
  const [row] = await session.statement(`
    select loaded_invoices::varchar as loaded_invoices, shipments::varchar as shipments, invoices::integer as invoices
    from publication_log order by sequence desc limit 1`);
  return row;
}

test('excludes replaced versions, voids and drafts from every sum', async () => {
  const database = await aDatabase();
  await database.use(async (session) => {
    expect(await line(session)).toEqual({ loaded_invoices: '0', shipments: '0', invoices: 0 });
    await fill(session);
    const told = await expected(session);
    expect(Number(told?.loaded_invoices)).toBeGreaterThan(100);
    expect(await line(session)).toEqual({ ...told, invoices: 200 });
  });
});

test('joins all loads where a row miscounts its versions', async () => {
  const database = await aDatabase();
  await database.use(async (session) => {
    await fill(session);
    await session.statement('update invoice_state set versions = 1 where versions > 1 and voided_at is null');
    expect(await line(session)).toEqual({ ...(await expected(session)), invoices: 200 });
  });
});
