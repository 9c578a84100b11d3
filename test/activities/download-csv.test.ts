import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { BillingDependencies } from '../../activities/dependencies.ts';
import { createServiceActivities } from '../../activities/service-calls.ts';
import { createPartFile } from '../../billing/receive-file.ts';
import type { LoadRequest } from '../../lib/warehouse-requests.ts';
import type { DownloadCsvResult } from '../../workflows/activities.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { aLocation } from '../workflows/invoice-builders.ts';

const INVOICE = '11111111-1111-4111-8111-111111111111';
const LOCATION = aLocation();
const OTHER_HASH = 'c'.repeat(64);

function downloadWith(dependencies: object): Promise<DownloadCsvResult> {
  const { downloadCsv } = createServiceActivities({
    ...{ log: pino({ level: 'silent' }), alerts: memoryAlerts().alerts },
    ...dependencies,
  } as unknown as BillingDependencies);
  const request = { invoiceId: INVOICE, location: LOCATION, source: 'event', eventId: 'e1' };
  return new MockActivityEnvironment().run(downloadCsv as never, request);
}

/** @param sizeBytes of the received file */
async function download({
  sizeBytes = 500,
  sha256 = LOCATION.fileHashSha256,
  loadInvoice = async (_: LoadRequest): Promise<unknown> => ({ outcome: 'loaded', shipments: 2 }),
} = {}): Promise<{ readonly result: DownloadCsvResult; readonly requests: readonly LoadRequest[] }> {
  const requests: LoadRequest[] = [];
  const result = await downloadWith({
    service: { downloadCsv: async () => ({ sha256, sizeBytes, scan: {} }) },
    loadInvoice: (request: LoadRequest) => {
      requests.push(request);
      return loadInvoice(request);
    },
  });
  return { result, requests };
}

describe('downloadCsv', () => {
  test('loads the downloaded file as announced', async () => {
    const { result, requests } = await download();
    expect(result).toMatchObject({ outcome: 'fetched', loaded: { outcome: 'loaded', shipments: 2 } });
    const sha256 = LOCATION.fileHashSha256;
    const request = { invoiceId: INVOICE, sha256, announcedSha256: sha256, source: 'event', eventId: 'e1' };
    expect(requests).toEqual([{ ...request, encodedSha256: null, workflowRunId: expect.any(String) }]);
  });

  test('records the announced hash of an encoded file', async () => {
    const { requests } = await download({ sha256: OTHER_HASH });
    const encodedSha256 = LOCATION.fileHashSha256;
    expect(requests).toMatchObject([{ sha256: OTHER_HASH, announcedSha256: OTHER_HASH, encodedSha256 }]);
  });

  test('leaves the load of a large file to the next activity', async () => {
    const { result, requests } = await download({ sizeBytes: 2 * 1024 * 1024 });
    expect(result).not.toHaveProperty('loaded');
    expect(requests).toEqual([]);
  });

  test('keeps the download when the load fails', async () => {
    const { result } = await download({
      loadInvoice: async () => {
        throw new Error('The warehouse is closed.');
      },
    });
    expect(result).toMatchObject({ outcome: 'fetched' });
    expect(result).not.toHaveProperty('loaded');
  });

  test('raises an alert for a file that does not fit on the disk, until another one fits', async () => {
    const { alerts, open } = memoryAlerts();
    let announcedBytes = 2 ** 50;
    const service = {
      async downloadCsv() {
        const part = await createPartFile(join(tmpdir(), 'billsync-full-disk-alert'), announcedBytes);
        await part.discard();
        return { sha256: 'a'.repeat(64), sizeBytes: announcedBytes };
      },
    };
    await expect(downloadWith({ service, alerts })).rejects.toMatchObject({ code: 'disk-full' });
    expect(open.get('disk/no-room')?.detail).toMatch(
      /\d+ MiB are free, 1073741888 MiB are needed\. Free some space/,
    );
    announcedBytes = 1;
    await downloadWith({ service, alerts });
    expect(open.size).toBe(0);
  });
});
