/**
 * Hostile answers of the service and its storage: bombs in any number of layers, redirects to any place, names that are paths.
 * Each is refused in bounded time and memory; no other host is called, and nothing is written beside the archive.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { BillsyncError } from '../../lib/errors.ts';
import { serviceSettings } from '../billing/service-settings.ts';
import { attackEach } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { startForeignService } from '../support/foreign-service.ts';
import { listen } from '../support/listen.ts';

const MIB = 1024 * 1024;
const dataDir = testFolder();
const trapped: string[] = [];

const service = await startForeignService({ tokenLifetimeSeconds: 600 });
const archive = await openFolderArchive(join(dataDir, 'archive'));
const billing = client();
const invoice = await service.createInvoice({ rows: 3 });
await service.finalize(invoice.invoiceId);
/** Where redirects lead that are followed. */
const trap = createServer((request, response) => {
  trapped.push(`${request.url} ${request.headers.authorization ?? ''}`);
  response.end('caught');
});
const trapPort = await listen(trap);
afterAll(async () => {
  await billing.close();
  await archive.close();
  await service.close();
  trap.closeAllConnections();
  trap.close();
});

function client(): BillingService {
  return createBillingService({ settings: serviceSettings(service, { dataDir }), archive });
}

const ROUTES = ['token', 'details', 'regenerate', 'export', 'storage'] as const;
type Route = (typeof ROUTES)[number];

/** Makes the call that ends at that route. @param file as its hash and size are announced */
async function call(
  route: Route,
  file = { fileHashSha256: 'a'.repeat(64), fileSizeBytes: MIB },
): Promise<{ readonly sha256?: string }> {
  const { invoiceId } = invoice;
  if (route === 'details') return (await billing.lookUpInvoice(invoiceId)) && {};
  if (route === 'regenerate') return (await billing.regenerateUrl(invoiceId)) && {};
  if (route === 'export') return billing.exportCsv(invoiceId);
  if (route === 'storage') {
    const location = { ...(await billing.regenerateUrl(invoiceId)), ...file };
    return billing.downloadCsv({ invoiceId, location, source: 'regenerate' });
  }
  const fresh = client();
  return fresh
    .fetchToken()
    .then(() => ({}))
    .finally(() => fresh.close());
}

/** All of them where answers are read as a stream; every third where they are read whole, which is one way for all. */
function some<T>(all: readonly T[], route: Route): readonly T[] {
  return route === 'details' || route === 'storage' ? all : all.filter((_, at) => at % 3 === 0);
}

/** null: it was accepted as an answer. */
async function refusal(
  route: Route,
  play: (response: ServerResponse) => void,
): Promise<BillsyncError | null> {
  service.play(route, ({ response }) => play(response));
  try {
    await call(route);
    return null;
  } catch (error) {
    if (error instanceof BillsyncError) return error;
    throw error;
  } finally {
    service.play(route, null);
  }
}

const SPACES = Buffer.alloc(18 * MIB, ' ');
const LAYERS = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync } as const;

function bomb(...encodings: readonly (keyof typeof LAYERS)[]): Buffer {
  return encodings.reduce((bytes, encoding) => LAYERS[encoding](bytes), SPACES);
}

/** Header, and the bytes under it. */
function bombs(): readonly (readonly [string, Buffer])[] {
  const small = gzipSync('{}');
  return [
    ['gzip', bomb('gzip')],
    ['br', bomb('br')],
    ['deflate', bomb('deflate')],
    ['gzip, gzip', bomb('gzip', 'gzip')],
    ['gzip, gzip, br', bomb('gzip', 'gzip', 'br')],
    ['br, br', bomb('br', 'br')],
    ['gzip, gzip, gzip, gzip, gzip, gzip', bomb('gzip')],
    [Array<string>(500).fill('gzip').join(', '), bomb('gzip')],
    // Unpacked also without a header.
    ['', bomb('gzip')],
    ['identity', bomb('gzip', 'gzip')],
    // Swells to 18 MiB of empty members, and comes to nothing.
    [
      'gzip, gzip',
      gzipSync(Buffer.concat(Array<Buffer>(Math.floor((18 * MIB) / small.length)).fill(gzipSync('')))),
    ],
    ['gzip', Buffer.concat([small, Buffer.alloc(100_000, 0x1f)])],
    ['gzip', small.subarray(0, 9)],
    ['compress', Buffer.from('x')],
    ['zstd', Buffer.from('x')],
    ['\u00ff', Buffer.from('x')],
  ];
}

test('refuses compressed bombs quickly and in little memory', async () => {
  const all = bombs();
  for (const route of ROUTES) {
    await attackEach(
      'answers: bombs, nested and mislabelled',
      some(all, route),
      async ([encoding, bytes]) => {
        const began = process.cpuUsage();
        const before = process.memoryUsage.rss();
        const refused = await refusal(route, (response) => {
          response.writeHead(200, {
            'content-type': route === 'storage' || route === 'export' ? 'text/csv' : 'application/json',
            ...(encoding === '' ? {} : { 'content-encoding': encoding }),
          });
          response.end(bytes);
        });
        const { user, system } = process.cpuUsage(began);
        const grownMb = (process.memoryUsage.rss() - before) / MIB;
        return refused !== null && (user + system) / 1e6 < 4 && grownMb < 200;
      },
    );
  }
});

test('follows no redirect to another host and sends it no token', async () => {
  const own = new URL(service.baseUrl).host;
  const locations = [
    `http://127.0.0.1:${trapPort}/a`,
    `http://localhost:${trapPort}/`,
    `https://127.0.0.1:${trapPort}/`,
    `//127.0.0.1:${trapPort}/`,
    `https://${own}@127.0.0.1:${trapPort}/`,
    `https://user:password@${own}/rest/`,
    `https://${own}/rest/api/v1/deliveryexperience/ping`,
    `https://${own}/`,
    '',
    '/',
    '?again',
    '#',
    '../../..',
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_SET%20a%20b',
    'javascript:alert(1)',
    'data:text/csv,Tenant',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::ffff:127.0.0.1]/',
    'https://2130706433/',
    'https://\u00ff\u00ff/',
    'https://',
    'http',
    `https://127.0.0.1/${'a'.repeat(12_000)}`,
  ];
  const statuses = [301, 302, 303, 307, 308];
  for (const route of ROUTES) {
    const cases = some(locations, route).map((location, at) => ({
      location,
      status: statuses[at % 5] ?? 302,
    }));
    await attackEach('answers: redirects', cases, async ({ location, status }) => {
      const refused = await refusal(route, (response) => {
        response.writeHead(status, { location: Buffer.from(location).toString('latin1') }).end('moved');
      });
      return refused !== null;
    });
  }
  expect(trapped).toEqual([]);
});

test('writes files to the archive only, under their hash', async () => {
  const names = [
    '../../../keys/webhook-key.pem',
    '..\\..\\keys\\key',
    '/etc/cron.d/billsync',
    '....//....//x',
    '%2e%2e%2f%2e%2e%2fx',
    'a%00.csv',
    'CON',
    'nul.csv',
    '.',
    '..',
    '-rf',
    '~/.ssh/authorized_keys',
    'x'.repeat(5_000),
    "a\";filename*=UTF-8''..%2f..%2fb",
    '=cmd|calc',
  ];
  // The first download makes its own folders.
  await refusal('storage', (response) => response.end());
  const before = listing();
  const { sha256 } = await billing.exportCsv(invoice.invoiceId);
  const csv = readFileSync(join(dataDir, 'archive', 'files', sha256.slice(0, 2), `${sha256}.csv`));
  const lastRow = csv.subarray(csv.lastIndexOf('\r\n', csv.length - 3) + 2);
  let rows = 0;
  for (const route of ['export', 'storage'] as const) {
    await attackEach('answers: names of files that are paths', names, async (name) => {
      rows += 1;
      const bytes = Buffer.concat([csv, ...Array<Buffer>(rows).fill(lastRow)]);
      const fileHashSha256 = createHash('sha256').update(bytes).digest('hex');
      service.play(route, ({ response }) => {
        const disposition = `attachment; filename="${name}"`;
        response
          .writeHead(200, { 'content-type': 'text/csv', 'content-disposition': disposition })
          .end(bytes);
      });
      const found = await call(route, { fileHashSha256, fileSizeBytes: bytes.length });
      service.play(route, null);
      return found.sha256 === fileHashSha256;
    });
  }
  const added = listing().filter((path) => !before.includes(path));
  expect(
    added.filter((path) => !/^archive\/files\/[0-9a-f]{2}(\/[0-9a-f]{64}\.(csv|json))?$/.test(path)),
  ).toEqual([]);
});

function listing(): readonly string[] {
  return readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).sort();
}
