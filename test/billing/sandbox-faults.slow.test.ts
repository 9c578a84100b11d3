import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Archive, Fact } from '../../archive/archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { type BillingServiceOptions, createBillingService } from '../../billing/client.ts';
import { startSandbox } from '../../sandbox/service.ts';
import { testFolder } from '../support/folders.ts';
import { serviceSettings } from './service-settings.ts';

let folder: string;
let archive: Archive;
let billing: BillingService;
let invoiceId: string;

const sandbox = await startSandbox({ seed: 7 });
afterAll(() => sandbox.close());
beforeEach(async () => {
  folder = testFolder();
  archive = await openFolderArchive(join(folder, 'archive'));
  billing = client();
  invoiceId = (await sandbox.createInvoice({ shipments: 400 })).invoiceId;
  await sandbox.finalize(invoiceId);
});
afterEach(async () => {
  sandbox.faults.clear();
  await billing.close();
  expect(await readdir(join(folder, 'run', 'tmp')).catch(() => [])).toEqual([]);
  await archive.close();
});

function client(
  changes: Partial<BillingServiceOptions['settings']['service']> = {},
  options: Partial<BillingServiceOptions> & { readonly partnerId?: string } = {},
): BillingService {
  const { partnerId = null, ...rest } = options;
  const settings = serviceSettings(sandbox, { dataDir: folder, partnerId, ...changes });
  return createBillingService({ settings, archive, ...rest });
}
function fault(
  name: string,
  endpoint: string,
  params: Record<string, string | number | boolean> = {},
  count = 1,
) {
  sandbox.faults.add({ name, count, target: { endpoint: endpoint as 'storage' }, params });
}
async function download(options: Parameters<BillingService['downloadCsv']>[1] = {}) {
  const location = await billing.regenerateUrl(invoiceId);
  return billing.downloadCsv({ invoiceId, location, source: 'regenerate' }, options);
}
async function factsOf(kind: Fact['kind']): Promise<Fact[]> {
  return (await Array.fromAsync(archive.facts())).filter((fact) => fact.kind === kind);
}

describe('credentials', () => {
  test('a token names the partner, and ping proves it', async () => {
    expect(billing.partnerIds()).toEqual([]);
    expect((await billing.fetchToken()).secondsLeft).toBeGreaterThan(3_500);
    await billing.ping();
    expect(billing.partnerIds()).toEqual([sandbox.partnerId]);
  });

  test('an API key needs no token', async () => {
    const withKey = client(
      { apiKey: sandbox.apiKey, clientId: null, clientSecret: null },
      { partnerId: sandbox.partnerId },
    );
    expect(await withKey.fetchToken()).toEqual({ secondsLeft: null });
    expect(withKey.partnerIds()).toEqual([sandbox.partnerId]);
    expect(await withKey.regenerateUrl(invoiceId)).toMatchObject({ fileSizeBytes: expect.any(Number) });
    await withKey.close();
  });

  test.each([
    ['a wrong secret', { clientSecret: 'wrong-s3cret' }],
    ['a wrong API key', { apiKey: 'wrong-s3cret' }],
  ])('%s is reported without its value', async (_, changes) => {
    const stranger = client(changes);
    const error = await stranger.ping().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'credentials-refused',
      message: expect.stringContaining('HTTP 401'),
    });
    expect(String(error)).not.toContain('s3cret');
    await stranger.close();
  });

  test('a token that was withdrawn is replaced once, then the call goes on (spec 7: 401)', async () => {
    await billing.fetchToken();
    sandbox.revokeTokens();
    expect(await billing.lookUpInvoice(invoiceId)).toMatchObject({ status: 'finalized' });
    fault('unauthorized', 'details', {}, 2);
    await expect(billing.lookUpInvoice(invoiceId)).rejects.toMatchObject({ code: 'credentials-refused' });
  });
});

describe('the API', () => {
  test('404 means not exported or not known (spec 7)', async () => {
    const draft = await sandbox.createInvoice();
    await expect(billing.regenerateUrl(draft.invoiceId)).rejects.toMatchObject({ code: 'not-exported' });
    const unknown = '99999999-9999-4999-8999-999999999999';
    await expect(billing.lookUpInvoice(unknown)).rejects.toMatchObject({ code: 'unknown-invoice' });
    await expect(billing.exportCsv(unknown)).rejects.toMatchObject({ code: 'unknown-invoice' });
  });

  test.each([
    ['bad-request', { code: 'refused', message: expect.stringContaining('HTTP 400') }],
    ['forbidden', { code: 'forbidden', message: expect.stringContaining('HTTP 403') }],
    ['server-error', { code: 'server-fault', message: expect.stringContaining('HTTP 500') }],
    ['redirect', { code: 'redirect', message: expect.stringContaining('HTTP 302') }],
    ['html-body', { code: 'unexpected-answer' }],
  ])('%s becomes an error of its own', async (name, expected) => {
    fault(name, 'regenerate');
    await expect(billing.regenerateUrl(invoiceId)).rejects.toMatchObject(expected);
    expect(await billing.regenerateUrl(invoiceId)).toMatchObject({ fileHashSha256: expect.any(String) });
  });

  test('decodes an encoded body', async () => {
    fault('gzip', 'regenerate');
    fault('gzip', 'storage');
    fault('gzip', 'details');
    fault('gzip', 'export-csv');
    expect((await download()).scan.records).toBe(400);
    expect((await billing.exportCsv(invoiceId)).scan.records).toBe(400);
    expect(await billing.lookUpInvoice(invoiceId)).toMatchObject({ status: 'finalized' });
  });

  test.each(['too-many-requests', 'unavailable'])(
    '%s carries Retry-After, and the host is left alone so long',
    async (name) => {
      await billing.fetchToken();
      fault(name, 'regenerate', { retryAfterSeconds: 1 });
      await expect(billing.regenerateUrl(invoiceId)).rejects.toMatchObject({
        code: 'overloaded',
        retryAfterSeconds: 1,
      });
      const startedAt = performance.now();
      await billing.regenerateUrl(invoiceId);
      expect(performance.now() - startedAt).toBeGreaterThan(800);
    },
  );

  test('returns a longer Retry-After without a retry', async () => {
    fault('too-many-requests', 'ping', { retryAfterSeconds: 60 });
    await expect(billing.ping()).rejects.toMatchObject({ retryAfterSeconds: 60 });
    const again = billing.regenerateUrl(invoiceId).catch((error: unknown) => error);
    expect(await again).toMatchObject({ code: 'overloaded', retryAfterSeconds: expect.any(Number) });
  });

  test.each(['connection-reset', 'execute-then-drop'])(
    '%s once is repeated at once, for ever is unreachable',
    async (name) => {
      fault(name, 'regenerate');
      expect(await billing.regenerateUrl(invoiceId)).toMatchObject({ fileSizeBytes: expect.any(Number) });
      fault(name, 'regenerate', {}, 10);
      await expect(billing.regenerateUrl(invoiceId)).rejects.toMatchObject({ code: 'unreachable' });
    },
  );

  test('aborts a hung call with the given reason', async () => {
    await billing.fetchToken();
    fault('hang', 'details');
    const reason = new Error('enough');
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 100);
    await expect(billing.lookUpInvoice(invoiceId, { signal: controller.signal })).rejects.toBe(reason);
  });

  test.each([
    ['regenerate', (patient: BillingService) => patient.regenerateUrl(invoiceId)],
    ['details', (patient: BillingService) => patient.lookUpInvoice(invoiceId)],
  ])('a call to %s that waited for sixteen that hang has all of its time then', async (endpoint, call) => {
    const patient = client({}, { callDeadlineMs: 3_000, limits: { throughputWindowMs: 3_000 } });
    await patient.fetchToken();
    fault('hang', endpoint, {}, 16);
    // One that came late must not leave its fault to the next.
    const before = Array.from({ length: 16 }, () => call(patient).catch(() => sandbox.faults.clear()));
    const next = call(patient);
    await Promise.all(before);
    expect(await next).toBeInstanceOf(Object);
    await patient.close();
  });

  test('aborts a queued call at once', async () => {
    await billing.fetchToken();
    fault('hang', 'regenerate', {}, 16);
    const [reason, others] = [new Error('enough'), new AbortController()];
    const before = Array.from({ length: 16 }, () =>
      billing.regenerateUrl(invoiceId, { signal: others.signal }),
    );
    const hanging = Promise.allSettled(before);
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 100);
    const startedAt = performance.now();
    await expect(billing.regenerateUrl(invoiceId, { signal: controller.signal })).rejects.toBe(reason);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    others.abort(reason);
    await hanging;
    sandbox.faults.clear();
    expect(await billing.regenerateUrl(invoiceId)).toMatchObject({ fileSizeBytes: expect.any(Number) });
  });

  test('reports a refused connection as unreachable', async () => {
    const nowhere = client({ baseUrl: 'https://127.0.0.1:9', authUrl: 'https://127.0.0.1:9' });
    await expect(nowhere.fetchToken()).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await nowhere.close();
  });

  test('refuses private addresses unless allowed, and plain HTTP', async () => {
    const strict = client({ allowPrivateHosts: false });
    await expect(strict.fetchToken()).rejects.toMatchObject({
      code: 'address-refused',
      message: expect.stringContaining('resolves to 127.0.0.1'),
    });
    const byName = client({
      allowPrivateHosts: false,
      authUrl: sandbox.authUrl.replace('127.0.0.1', 'localhost'),
    });
    await expect(byName.fetchToken()).rejects.toMatchObject({ code: 'address-refused' });
    const plain = client({ authUrl: sandbox.authUrl.replace('https:', 'http:') });
    await expect(plain.fetchToken()).rejects.toMatchObject({ code: 'host-not-allowed' });
    await Promise.all([strict.close(), byName.close(), plain.close()]);
  });
});

describe('downloadCsv', () => {
  test('archives the file under its hash with its origin', async () => {
    const file = await download();
    expect(file.scan).toMatchObject({ records: 400, findingCount: 0, endsWithLineEnd: true });
    const [fact] = await factsOf('file');
    expect(fact).toMatchObject({
      invoiceId,
      sha256: file.sha256,
      sizeBytes: file.sizeBytes,
      source: 'regenerate',
    });
    expect(fact?.kind === 'file' && fact.from).toMatch(/^https:\/\/[^?]+$/);
  });

  test('does not download an archived file again', async () => {
    const file = await download();
    fault('hang', 'storage', {}, 100);
    expect(await download()).toEqual(file);
  });

  test('accepts a URL of a webhook from listed hosts only', async () => {
    const location = await billing.regenerateUrl(invoiceId);
    const request = { invoiceId, location, source: 'event' } as const;
    await expect(billing.downloadCsv(request)).rejects.toMatchObject({ code: 'host-not-allowed' });
    expect(billing.mayDownloadFrom(location.presignedUrl)).toBe(false);
    const listing = client({ downloadHosts: [new URL(sandbox.storageUrl).host] });
    expect(listing.mayDownloadFrom(location.presignedUrl)).toBe(true);
    expect(await listing.downloadCsv(request)).toMatchObject({ sha256: location.fileHashSha256 });
    await listing.close();
  });

  test.each([
    ['wrong-hash', 'regenerate', {}, 'hash-mismatch'],
    ['wrong-size', 'regenerate', { by: 1 }, 'size-mismatch'],
    ['wrong-size', 'regenerate', { by: -1 }, 'size-mismatch'],
    ['corrupt-body', 'storage', {}, 'hash-mismatch'],
    ['cut-off-body', 'storage', { clean: true }, 'size-mismatch'],
    ['cut-off-body', 'storage', { clean: false }, 'unreachable'],
    ['redirect', 'storage', {}, 'redirect'],
    ['forbidden', 'storage', {}, 'url-refused'],
    ['unauthorized', 'storage', {}, 'url-refused'],
    ['not-found', 'storage', {}, 'url-refused'],
    ['bad-request', 'storage', {}, 'url-refused'],
    ['too-many-requests', 'storage', {}, 'overloaded'],
    ['unavailable', 'storage', {}, 'overloaded'],
    ['server-error', 'storage', {}, 'server-fault'],
    ['connection-reset', 'storage', {}, 'unreachable'],
    ['html-body', 'storage', {}, 'size-mismatch'],
    ['expired-url', 'regenerate', {}, 'url-refused'],
  ])(
    '%s at %s (%j) is %s, leaves nothing behind, and the next attempt succeeds',
    async (name, endpoint, params, code) => {
      fault(name, endpoint, params);
      const error = await download().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code });
      expect(String(error)).not.toMatch(/Signature|Expires=/);
      expect(await readdir(join(folder, 'run', 'tmp'))).toEqual([]);
      expect(await factsOf('file')).toEqual([]);
      expect((await download()).scan.records).toBe(400);
    },
  );

  test('accepts a body without a length, and a late one', async () => {
    fault('no-content-length', 'storage');
    fault('delay', 'storage', { delayMs: 50 });
    expect((await download()).scan.records).toBe(400);
  });

  test('ends a slow download below the minimum rate or at its deadline', async () => {
    fault('slow-drip', 'storage', { bytes: 5, everyMs: 20 }, 2);
    const location = await billing.regenerateUrl(invoiceId);
    const request = { invoiceId, location, source: 'regenerate' } as const;
    const impatient = client({}, { limits: { throughputWindowMs: 200 } });
    await expect(impatient.downloadCsv(request)).rejects.toMatchObject({
      code: 'deadline-exceeded',
      message: expect.stringContaining('bytes per second'),
    });
    const bounded = client({}, { limits: { totalDeadlineMs: 200, minBytesPerSecond: 0 } });
    await expect(bounded.downloadCsv(request)).rejects.toMatchObject({ code: 'deadline-exceeded' });
    await Promise.all([impatient.close(), bounded.close()]);
  });
});

describe('exportCsv (spec 4.5)', () => {
  test('archives the exported file without an announced hash', async () => {
    const file = await billing.exportCsv(invoiceId);
    expect(file).toEqual(await download());
    expect(
      (await factsOf('file')).map((fact) => fact.kind === 'file' && [fact.source, fact.from !== null]),
    ).toEqual([
      ['export', false],
      ['regenerate', true],
    ]);
  });

  test('works after the export to storage failed (spec 6, rule 6)', async () => {
    sandbox.faults.add({ name: 'export-failure', count: 1 });
    const failed = await sandbox.createInvoice({ shipments: 5 });
    await sandbox.finalize(failed.invoiceId);
    await expect(billing.regenerateUrl(failed.invoiceId)).rejects.toMatchObject({ code: 'not-exported' });
    expect((await billing.exportCsv(failed.invoiceId)).scan.records).toBe(5);
  });

  test('reports a connection that is lost within the file', async () => {
    fault('cut-off-body', 'export-csv', { clean: false });
    await expect(billing.exportCsv(invoiceId)).rejects.toMatchObject({ code: 'unreachable' });
  });
});
