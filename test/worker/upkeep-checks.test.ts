import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, expect, test } from 'vitest';
import { createHealth, stateCheck } from '../../lib/health/health.ts';
import type { QuarantinedItem } from '../../lib/wire/quarantine.ts';
import { type MissingFiles, type UpkeepOptions, upkeepChecks } from '../../worker/upkeep-checks.ts';

const folder = await mkdtemp(join(tmpdir(), 'upkeep-'));
afterAll(() => rm(folder, { recursive: true }));

await mkdir(join(folder, 'events', 'journal'), { recursive: true });
await mkdir(join(folder, 'facts'));

const NOW = Date.parse('2026-03-10T08:00:00Z');
const service = { clientCert: null, clientKey: null, apiKey: null } as UpkeepOptions['settings']['service'];

async function told(over: Partial<UpkeepOptions> = {}) {
  const health = createHealth();
  const open = new Set<string>();
  const watches = upkeepChecks({
    settings: { service, archive: { kind: 'folder', path: folder } },
    archive: { file: async () => null },
    quarantine: { list: async () => [] },
    readMissingFiles: async () => ({ invoices: 0, since: null }),
    ...{ env: {}, now: () => NOW },
    ...over,
  });
  const alerts = {
    raise: ({ key }: { readonly key: string }) => void open.add(key),
    resolve: (key: string) => void open.delete(key),
    close: async () => undefined,
  };
  const { signal } = new AbortController();
  await Promise.all(watches.map((watch) => stateCheck(watch, { health, alerts }).run(signal)));
  return { ...health.report(), open: [...open] };
}

function refusedAt(...times: readonly string[]) {
  return { list: async () => times.map((at) => ({ at }) as QuarantinedItem) };
}
const waiting =
  (since: string): (() => Promise<MissingFiles>) =>
  async () => ({ invoices: 3, since });

test('counts quarantined items and is unhealthy after a day', async () => {
  const fresh = await told({ quarantine: refusedAt('2026-03-10T07:00:00Z', '2026-03-09T09:00:00Z') });
  const detail = '2 refused, the oldest since 2026-03-09 09:00 UTC.';
  expect(fresh.components.quarantine).toMatchObject({ isHealthy: true, detail });
  const old = await told({ quarantine: refusedAt('2026-03-10T07:00:00Z', '2026-03-09T07:00:00Z') });
  expect(old).toMatchObject({
    isWell: false,
    isReady: true,
    components: { quarantine: { isHealthy: false } },
  });
});

test('is unhealthy after an hour without the file of a finalized invoice', async () => {
  const fresh = await told({ readMissingFiles: waiting('2026-03-10T07:30:00.000Z') });
  expect(fresh.components.files).toMatchObject({
    isHealthy: true,
    detail: expect.stringContaining('3 finalized'),
  });
  const late = await told({ readMissingFiles: waiting('2026-03-10T06:30:00.000Z') });
  expect(late.components.files).toMatchObject({ isHealthy: false });
});

test('reports an archive that disappeared', async () => {
  const gone = await told({ settings: { service, archive: { kind: 'folder', path: join(folder, 'gone') } } });
  expect(gone).toMatchObject({ isReady: false, components: { archive: { isHealthy: false } } });
  expect(gone.components.archive?.detail).toMatch(/cannot be checked: ENOENT/);
  expect(gone.open).toEqual(['archive']);
  const unmounted = await mkdtemp(join(folder, 'unmounted-'));
  const empty = await told({ settings: { service, archive: { kind: 'folder', path: unmounted } } });
  expect(empty.components.archive?.detail).toMatch(/holds no archive any more. Is its volume mounted/);
  const refused = { file: () => Promise.reject(new Error('AccessDenied\nby the bucket')) };
  const bucket = await told({
    settings: { service, archive: { kind: 's3', url: 's3://b' } },
    archive: refused,
  });
  expect(bucket.components.archive).toMatchObject({ detail: 'It cannot be checked: AccessDenied' });
});

test('reports certificates and tokens 14 days before they expire, and after', async () => {
  const pem = async (name: string, until: string) => {
    const { cert } = await generate([{ name: 'commonName', value: name }], {
      notBeforeDate: new Date('2026-01-01'),
      notAfterDate: new Date(until),
    });
    await writeFile(join(folder, name), cert);
    return join(folder, name);
  };
  const [soon, later] = [await pem('soon.pem', '2026-03-20'), await pem('later.pem', '2027-01-01')];
  const token = (exp: number) => `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.sig`;
  const settings = (clientCert: string | null, apiKey: string | null) =>
    ({ service: { ...service, clientCert, apiKey }, archive: { kind: 'folder', path: folder } }) as const;
  expect(await told({ settings: settings(later, 'no.token.at.all') })).toMatchObject({
    isWell: true,
    open: [],
  });
  const told1 = await told({ settings: settings(soon, token(NOW / 1_000 - 60)) });
  expect(told1).toMatchObject({ isWell: false, isReady: true });
  expect(told1.open.sort()).toEqual(['expiry/BILLSYNC_API_KEY', 'expiry/BILLSYNC_CLIENT_CERT']);
  expect(told1.components['client certificate']?.detail).toContain('valid until 2026-03-20');
  expect(told1.components['API key']?.detail).toContain('expired at 2026-03-10 07:59');
  const env = { TEMPORAL_API_KEY: token(NOW / 1_000 + 86_400), TEMPORAL_TLS_CLIENT_CERT_PATH: later };
  expect((await told({ env })).open).toEqual(['expiry/TEMPORAL_API_KEY']);
});

test('reports a certificate that is not valid yet or does not match its key', async () => {
  const pair = async (from: string) => {
    const { cert, private: key } = await generate([{ name: 'commonName', value: from }], {
      notBeforeDate: new Date(from),
      notAfterDate: new Date('2027-01-01'),
    });
    const [clientCert, clientKey] = [join(folder, `${from}.pem`), join(folder, `${from}.key`)];
    await Promise.all([writeFile(clientCert, cert), writeFile(clientKey, key)]);
    return { clientCert, clientKey };
  };
  const [now, later] = [await pair('2026-01-01'), await pair('2026-06-01')];
  const archive = { kind: 'folder', path: folder } as const;
  const tellOf = async (files: typeof now) => {
    const { open, components } = await told({ settings: { service: { ...service, ...files }, archive } });
    return [open, components['client certificate']?.detail];
  };
  expect((await tellOf(now))[0]).toEqual([]);
  expect(await tellOf(later)).toEqual([
    ['expiry/BILLSYNC_CLIENT_CERT'],
    'It is valid only from 2026-06-01 00:00 UTC on (BILLSYNC_CLIENT_CERT).',
  ]);
  expect(await tellOf({ ...now, clientKey: later.clientKey })).toEqual([
    ['expiry/BILLSYNC_CLIENT_CERT'],
    'It is not the certificate of the key in BILLSYNC_CLIENT_KEY, so it cannot be used (BILLSYNC_CLIENT_CERT).',
  ]);
});
