import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Archive } from '../../archive/archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { parseDelivery } from '../../lib/wire/parse-delivery.ts';
import { testFolder } from '../support/folders.ts';
import { startForeignService } from '../support/foreign-service.ts';
import { serviceSettings } from './service-settings.ts';

let folder: string;
let archive: Archive;
let billing: BillingService;

const service = await startForeignService();
afterAll(async () => {
  expect(service.complaints).toEqual([]);
  await service.close();
});
beforeEach(async () => {
  folder = testFolder();
  archive = await openFolderArchive(join(folder, 'archive'));
  billing = createBillingService({ settings: serviceSettings(service, { dataDir: folder }), archive });
});
afterEach(async () => {
  await billing.close();
  await archive.close();
});

describe('against a foreign service', () => {
  test('gets a token with a secret of special characters and reads the partner from it', async () => {
    expect(billing.partnerIds()).toEqual([]);
    const before = service.tokensIssued();
    const [{ secondsLeft }] = await Promise.all([
      billing.fetchToken(),
      ...Array.from({ length: 19 }, () => billing.fetchToken()),
    ]);
    expect(service.tokensIssued() - before).toBe(1);
    expect(secondsLeft).toBeGreaterThan(2);
    expect(billing.partnerIds()).toEqual([service.partnerId]);
  });

  test('reads events, regenerates, downloads and verifies the file', async () => {
    const { invoiceId } = await service.createInvoice({ rows: 40 });
    await service.finalize(invoiceId);
    const parsed = parseDelivery(Buffer.from(service.events.at(-1) ?? ''), { wirePrefix: 'auto' });
    expect(parsed).toMatchObject({
      kind: 'event',
      event: { invoice: { invoiceId }, partnerId: service.partnerId },
    });
    const location = await billing.regenerateUrl(invoiceId);
    const file = await billing.downloadCsv({ invoiceId, location, source: 'regenerate' });
    expect(file).toMatchObject({
      sha256: service.exportOf(invoiceId).fileHashSha256.toLowerCase(),
      scan: { records: 40, findingCount: 0 },
    });
    expect(await billing.exportCsv(invoiceId)).toEqual(file);
    expect((await readFile(await archive.localPath(file.sha256))).length).toBe(file.sizeBytes);
    expect(await readdir(join(folder, 'run', 'tmp'))).toEqual([]);
  });

  test('archives no file of another hash or size than announced', async () => {
    const { invoiceId } = await service.createInvoice({ rows: 40 });
    await service.finalize(invoiceId);
    const location = await billing.regenerateUrl(invoiceId);
    const { fileSizeBytes } = location;
    const download = (change: Partial<typeof location>) =>
      billing.downloadCsv({ invoiceId, location: { ...location, ...change }, source: 'regenerate' });
    await expect(download({ fileHashSha256: '0'.repeat(64) })).rejects.toMatchObject({
      code: 'hash-mismatch',
    });
    for (const size of [fileSizeBytes - 1, fileSizeBytes + 1])
      await expect(download({ fileSizeBytes: size })).rejects.toMatchObject({ code: 'size-mismatch' });
    for (const size of [0, 1e13])
      await expect(download({ fileSizeBytes: size })).rejects.toMatchObject({
        code: 'impossible-announcement',
      });
    const { sha256 } = await download({});
    expect(await archive.file('0'.repeat(64))).toBeNull();
    await expect(download({ fileSizeBytes: fileSizeBytes + 1 })).rejects.toMatchObject({
      code: 'size-mismatch',
    });
    expect((await archive.file(sha256))?.sizeBytes).toBe(fileSizeBytes);
  });

  test.each([
    [
      'a 304',
      (request: IncomingMessage) => (request.headers['if-none-match'] === '"v1"' ? 304 : 200),
      '"v1"',
    ],
    ['all of it under the same tag', () => 200, 'W/"v1"'],
  ])('does not fetch an export a second time that the service answers with %s', async (_, statusOf, etag) => {
    const { invoiceId } = await service.createInvoice();
    await service.finalize(invoiceId);
    service.play('export', ({ request, response, invoice }) => {
      const status = statusOf(request);
      response
        .writeHead(status, { 'content-type': 'text/csv', etag })
        .end(status === 304 ? '' : invoice?.csv);
    });
    const { tag, ...file } = await billing.exportCsv(invoiceId);
    expect(tag).toEqual({ etag, lastModified: null });
    const unless = { etag: '"v1"', lastModified: null };
    await expect(billing.exportCsv(invoiceId, { unless })).rejects.toMatchObject({ code: 'not-modified' });
    const other = { etag: '"v0"', lastModified: null };
    expect(await billing.exportCsv(invoiceId, { unless: other })).toMatchObject(file);
    service.play('export', null);
    expect(await readdir(join(folder, 'run', 'tmp'))).toEqual([]);
  });

  test('works while tokens expire every three seconds', async () => {
    const before = service.tokensIssued();
    const until = Date.now() + 4_000;
    while (Date.now() < until) {
      await Promise.all(Array.from({ length: 5 }, () => billing.fetchToken()));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(service.tokensIssued() - before).toBeLessThanOrEqual(3);
  });

  test('regenerates an expired URL and finds wrapped details', async () => {
    const { invoiceId } = await service.createInvoice({ tenant: null });
    await expect(billing.regenerateUrl(invoiceId)).rejects.toMatchObject({ code: 'not-exported' });
    await service.finalize(invoiceId);
    const dead = await billing.regenerateUrl(invoiceId);
    service.expireUrls();
    await expect(
      billing.downloadCsv({ invoiceId, location: dead, source: 'regenerate' }),
    ).rejects.toMatchObject({
      code: 'url-refused',
      message: expect.stringContaining('HTTP 403'),
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const location = await billing.regenerateUrl(invoiceId);
    await billing.downloadCsv({ invoiceId, location, source: 'regenerate' });
    expect(await billing.lookUpInvoice(invoiceId)).toMatchObject({
      status: 'finalized',
      header: { invoiceId, tenantId: null, totalTransactionCount: 3 },
    });
    await service.void(invoiceId);
    expect(await billing.lookUpInvoice(invoiceId)).toMatchObject({ status: 'voided' });
  });

  test('requests only a token besides the call; ping may be missing (spec 4.2)', async () => {
    service.play('ping', ({ response }) => response.writeHead(403).end());
    const { invoiceId } = await service.createInvoice();
    await service.finalize(invoiceId);
    const before = service.calls.length;
    for (const work of ['lookUpInvoice', 'regenerateUrl', 'exportCsv'] as const) {
      await billing.fetchToken();
      await billing[work](invoiceId);
    }
    expect(service.calls.slice(before)).toEqual(['token', 'details', 'regenerate', 'export']);
    await expect(billing.ping()).rejects.toMatchObject({ code: 'forbidden' });
    service.play('ping', null);
  });
});
