import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { isReportError } from '../../reports/errors.ts';
import { runSql } from '../../reports/run-sql.ts';
import { startS3Server } from '../archive/s3-server.ts';
import { attackEach } from '../support/attack.ts';
import { listen } from '../support/listen.ts';
import {
  type LakeServer,
  type LakeTestSettings,
  lookAtLake,
  PASSWORD,
  publishedPath,
  queryLake,
  startLakeServer,
} from '../warehouse/lake/support.ts';
import { aCsv, aWarehouse, loadCsv, makeDataDir, type TestWarehouse } from '../warehouse/support.ts';

let server: LakeServer;
let settings: LakeTestSettings;
let t: TestWarehouse;
beforeAll(async () => {
  server = await startLakeServer();
  settings = await server.aLake(makeDataDir());
  t = await aWarehouse({ settings });
  await loadCsv(t, aCsv([{}, {}]));
  await t.warehouse.publish();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await t?.close();
  await server?.stop();
});

const COUNT = 'select count(*)::integer as n from shipments';

test.each(['in the setting', 'in PGPASSWORD'])(
  'a foreign server that a statement names gets no password that is %s',
  async (where) => {
    const from = where === 'in PGPASSWORD' ? ` password=${PASSWORD}` : '';
    if (from !== '') vi.stubEnv('PGPASSWORD', PASSWORD);
    const catalog = settings.warehouse.catalog.replace(from, '');
    const reader = { ...settings, dataDir: makeDataDir(), warehouse: { ...settings.warehouse, catalog } };
    const foreign = await aServerThatRequestsPasswords();
    const connection = await lookAtLake(reader);
    try {
      expect(process.env.PGPASSWORD).toBeUndefined();
      expect((await connection.runAndReadAll(COUNT)).getRowObjectsJson()).toEqual([{ n: 2 }]);
      const scan = `from postgres_scan('host=127.0.0.1 port=${foreign.port} user=a dbname=b sslmode=disable', 'c', 'd')`;
      await expect(connection.run(scan)).rejects.toThrow(/password|closed/);
      expect(foreign.received()).not.toContain(PASSWORD);
    } finally {
      connection.closeSync();
      await foreign.close();
    }
  },
);

test('runs no catalog statement and overwrites no file with `billsync sql`', async () => {
  const databasePath = publishedPath(settings);
  const files = (): string[] =>
    readdirSync(settings.warehouse.dataPath, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.parquet'))
      .map((name) => {
        const path = join(settings.warehouse.dataPath, name);
        return `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
      });
  const before = files();
  const [file = ''] = (before[0] ?? '').split(' ');
  const hostile = [
    "from postgres_query('ledger', 'select 1')",
    "select * from postgres_query('ledger', 'select pg_read_file(''/etc/hostname'')')",
    "call postgres_execute('ledger', 'drop schema billsync cascade')",
    "from postgres_scan('host=127.0.0.1 port=1', 'a', 'b')",
    "attach 'host=127.0.0.1 port=1' as x (type postgres)",
    `copy (select 1 as a) to '${file}'`,
    `explain analyze copy (select 1 as a) to '${file}' (format parquet)`,
    `from read_parquet('${file}')`,
    `from '${file}'`,
    "from ducklake_snapshots('lake')",
    "select * from ducklake_cleanup_old_files('lake', cleanup_all => true)",
    `from ducklake_list_files('lake', 'shipment_rows')`,
    `from glob('${settings.warehouse.dataPath}/**')`,
    'delete from lake.shipment_rows',
    "create secret s (type postgres, host '127.0.0.1')",
  ];
  await attackEach('statements against the catalogue and the files of a lake', hostile, async (sql) => {
    const error = await runSql({ databasePath, sql, timeLimitMs: 60_000 }).catch((reason: unknown) => reason);
    return isReportError(error, 'sql-refused');
  });
  expect(files()).toEqual(before);
  const pivot = 'pivot shipments on carrier using sum(billing_cost)';
  expect((await runSql({ databasePath, sql: pivot, timeLimitMs: 60_000 })).rows).toHaveLength(2);
});

test('reads all and writes nothing with the documented reader credentials', async () => {
  const page = readFileSync(new URL('../../docs/several-machines.md', import.meta.url), 'utf8');
  const [, script = ''] = /```sql\n(create role billsync_reader[\s\S]*?)```/.exec(page) ?? [];
  await server.query(settings, script.replaceAll('for role billsync ', 'for role lake '));
  const asReader = settings.warehouse.catalog.replace('user=lake', 'user=billsync_reader');
  const reader = { ...settings, warehouse: { ...settings.warehouse, catalog: asReader } };
  expect(await queryLake(reader, COUNT)).toEqual([{ n: 2 }]);
  for (const [schema, table] of [
    ['billsync_1', 'loads'],
    ['billsync_lake_1', 'ducklake_data_file'],
  ]) {
    await expect(server.query(settings, `delete from ${schema}.${table}`, 'billsync_reader')).rejects.toThrow(
      /permission denied/,
    );
  }
});

test('reads a lake in a bucket with read-only credentials', async () => {
  const s3 = await startS3Server();
  const readOnly = await refusingWrites(s3.url);
  try {
    for (const [name, value] of Object.entries({
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'a-key',
      AWS_SECRET_ACCESS_KEY: 'a-secret',
      AWS_ENDPOINT_URL: s3.url,
    })) {
      vi.stubEnv(name, value);
    }
    const client = new S3Client({ forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket: 'lake' }));
    client.destroy();
    const inBucket = await server.aLake(makeDataDir(), 's3://lake/billing');
    const w = await aWarehouse({ settings: inBucket });
    await loadCsv(w, aCsv([{}]));
    vi.stubEnv('AWS_ENDPOINT_URL', readOnly.url);
    expect(await queryLake(inBucket, COUNT)).toEqual([{ n: 1 }]);
    expect([...readOnly.methods()]).toContain('GET');
    vi.stubEnv('AWS_ENDPOINT_URL', s3.url);
    await w.close();
  } finally {
    readOnly.server.close();
    await s3.stop();
  }
});

/** Answers PostgreSQL's start of a connection with a request for the password in clear text. */
async function aServerThatRequestsPasswords() {
  let received = '';
  const listening = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])));
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      if (bytes[0] === 0x70) socket.end();
    });
  });
  return {
    port: await listen(listening),
    received: () => received,
    close: () => new Promise((resolve) => listening.close(resolve)),
  };
}

/** As an account without `s3:PutObject` and `s3:DeleteObject` meets the bucket. */
async function refusingWrites(
  url: string,
): Promise<{ url: string; methods: () => Set<string>; server: Server }> {
  const methods = new Set<string>();
  const proxy = createServer((incoming, answer) => {
    const { method = '', headers, url: path = '/' } = incoming;
    methods.add(method);
    if (method !== 'GET' && method !== 'HEAD') {
      answer.writeHead(403).end();
      return;
    }
    const forwarded = request(new URL(path, url), { method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 502, found.headers);
      found.pipe(answer);
    });
    forwarded.end();
  });
  return { url: `http://127.0.0.1:${await listen(proxy)}`, methods: () => methods, server: proxy };
}
