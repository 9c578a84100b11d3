import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { expect, test } from 'vitest';
import { type Check, createHealth, reportedCheck, type StateCheck } from '../../lib/health/health.ts';
import { createMetrics } from '../../lib/metrics.ts';
import type { QuarantinedItem } from '../../lib/quarantine.ts';
import { requireDiskSpace } from '../../warehouse/data-folder.ts';
import { type MissingFiles, machineChecks, type PartsOptions, partsChecks } from '../../worker/checks.ts';
import { testFolder } from '../support/folders.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

const folder = testFolder();

await mkdir(join(folder, 'events', 'journal'), { recursive: true });
await mkdir(join(folder, 'facts'));

const NOW = Date.parse('2026-03-10T08:00:00Z');
const service = { clientCert: null, clientKey: null, apiKey: null } as PartsOptions['settings']['service'];

const warehouse = { kind: 'duckdb', path: join(folder, 'warehouse.duckdb') } as const;

async function run(
  checks: readonly (Check | StateCheck)[],
  sinks: Parameters<typeof reportedCheck>[1],
): Promise<void> {
  const { signal } = new AbortController();
  for (const check of checks) await ('readState' in check ? reportedCheck(check, sinks) : check).run(signal);
}

async function reportOf(over: Partial<PartsOptions> = {}) {
  const health = createHealth();
  const { alerts, open } = memoryAlerts();
  const checks = partsChecks({
    settings: settingsOf({}),
    archive: { file: async () => null },
    quarantine: { list: async () => [] },
    warehouse: { blockedBy: async () => null },
    readMissingFiles: async () => ({ invoices: 0, since: null }),
    ...{ env: {}, now: () => NOW },
    ...over,
  });
  await run(checks, { health, alerts });
  return { ...health.report(), open: [...open.keys()] };
}

function settingsOf(
  changes: Partial<typeof service>,
  archive: PartsOptions['settings']['archive'] = { kind: 'folder', path: folder },
): PartsOptions['settings'] {
  return { service: { ...service, ...changes }, archive, warehouse };
}

/** The checks of the machine, with a clock that the test moves. */
function aMachine(dataDir: string, startMs = NOW) {
  let nowMs = startMs;
  const health = createHealth(() => new Date(nowMs));
  const { alerts, open } = memoryAlerts();
  const metrics = createMetrics('worker');
  const checks = machineChecks({ health, alerts, dataDir, metrics, now: () => nowMs });
  return {
    ...{ health, open },
    run: () => run(checks, { health, alerts }),
    pass: (seconds: number) => {
      nowMs += seconds * 1_000;
    },
  };
}

// `/proc` is a file system without space.
test.runIf(process.platform === 'linux')('reports a full disk', async () => {
  const { health, open, run } = aMachine('/proc');
  await run();
  const { disk } = health.report().components;
  expect(disk).toMatchObject({ isHealthy: false, detail: expect.stringMatching(/^0 MiB are free/) });
  expect([...open.keys()]).toEqual(['disk/full']);
});

test('writes nothing to the warehouse without disk space', async () => {
  await requireDiskSpace(warehouse.path, 1);
  await expect(requireDiskSpace(warehouse.path, 2 ** 60)).rejects.toMatchObject({ code: 'no-room' });
});

test('raises an alert when Temporal or the service has been unhealthy for 15 s', async () => {
  const { health, open, run, pass } = aMachine(folder);
  health.set('temporal', { isHealthy: false, detail: '127.0.0.1:7233 does not answer' });
  health.set('billing service', { isHealthy: true });
  pass(14);
  health.set('billing service', { isHealthy: false, detail: 'last error: 503' });
  await run();
  expect([...open.keys()]).toEqual([]);
  pass(2);
  await run();
  expect([...open.keys()]).toEqual(['temporal/away']);
  expect(open.get('temporal/away')?.detail).toMatch(/^127.0.0.1:7233 does not answer\. Deliveries/);
  pass(14);
  await run();
  expect(open.get('service/unwell')?.detail).toMatch(/^last error: 503\. /);
  health.set('temporal', { isHealthy: true });
  health.set('billing service', { isHealthy: true });
  await run();
  expect(open.size).toBe(0);
});

function refusedAt(...times: readonly string[]) {
  return { list: async () => times.map((at) => ({ at }) as QuarantinedItem) };
}
const waiting =
  (since: string): (() => Promise<MissingFiles>) =>
  async () => ({ invoices: 3, since });

test('counts quarantined items and is unhealthy after a day', async () => {
  const fresh = await reportOf({ quarantine: refusedAt('2026-03-10T07:00:00Z', '2026-03-09T09:00:00Z') });
  const detail = '2 refused, the oldest since 2026-03-09 09:00 UTC.';
  expect(fresh.components.quarantine).toMatchObject({ isHealthy: true, detail });
  const old = await reportOf({ quarantine: refusedAt('2026-03-10T07:00:00Z', '2026-03-09T07:00:00Z') });
  expect(old).toMatchObject({
    isWell: false,
    isReady: true,
    components: { quarantine: { isHealthy: false } },
  });
});

test('is unhealthy after an hour without the file of a finalized invoice', async () => {
  const fresh = await reportOf({ readMissingFiles: waiting('2026-03-10T07:30:00.000Z') });
  expect(fresh.components.files).toMatchObject({
    isHealthy: true,
    detail: expect.stringContaining('3 finalized'),
  });
  const late = await reportOf({ readMissingFiles: waiting('2026-03-10T06:30:00.000Z') });
  expect(late.components.files).toMatchObject({ isHealthy: false });
});

test('reports an archive that disappeared', async () => {
  const gone = await reportOf({ settings: settingsOf({}, { kind: 'folder', path: join(folder, 'gone') }) });
  expect(gone).toMatchObject({ isReady: false, components: { archive: { isHealthy: false } } });
  expect(gone.components.archive?.detail).toMatch(/cannot be checked: ENOENT/);
  expect(gone.open).toEqual(['archive']);
  const unmounted = await mkdtemp(join(folder, 'unmounted-'));
  const empty = await reportOf({ settings: settingsOf({}, { kind: 'folder', path: unmounted }) });
  expect(empty.components.archive?.detail).toMatch(/holds no archive any more. Is its volume mounted/);
  const refused = { file: () => Promise.reject(new Error('AccessDenied\nby the bucket')) };
  const bucket = await reportOf({
    settings: settingsOf({}, { kind: 's3', url: 's3://b' }),
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
  expect(
    await reportOf({ settings: settingsOf({ clientCert: later, apiKey: 'no.token.at.all' }) }),
  ).toMatchObject({
    isWell: true,
    open: [],
  });
  const expiring = await reportOf({
    settings: settingsOf({ clientCert: soon, apiKey: token(NOW / 1_000 - 60) }),
  });
  expect(expiring).toMatchObject({ isWell: false, isReady: true });
  expect(expiring.open.sort()).toEqual(['expiry/BILLSYNC_API_KEY', 'expiry/BILLSYNC_CLIENT_CERT']);
  expect(expiring.components['client certificate']?.detail).toContain('valid until 2026-03-20');
  expect(expiring.components['API key']?.detail).toContain('expired at 2026-03-10 07:59');
  const env = { TEMPORAL_API_KEY: token(NOW / 1_000 + 86_400), TEMPORAL_TLS_CLIENT_CERT_PATH: later };
  expect((await reportOf({ env })).open).toEqual(['expiry/TEMPORAL_API_KEY']);
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
  const stateOf = async (files: typeof now) => {
    const { open, components } = await reportOf({ settings: settingsOf(files) });
    return [open, components['client certificate']?.detail];
  };
  expect((await stateOf(now))[0]).toEqual([]);
  expect(await stateOf(later)).toEqual([
    ['expiry/BILLSYNC_CLIENT_CERT'],
    'It is valid only from 2026-06-01 00:00 UTC on (BILLSYNC_CLIENT_CERT).',
  ]);
  expect(await stateOf({ ...now, clientKey: later.clientKey })).toEqual([
    ['expiry/BILLSYNC_CLIENT_CERT'],
    'It is not the certificate of the key in BILLSYNC_CLIENT_KEY, so it cannot be used (BILLSYNC_CLIENT_CERT).',
  ]);
});
