/** Who brings a small file loads it at once, and leaves the load to itself when it fails. */

import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { BillingDependencies } from '../../activities/dependencies.ts';
import { type DownloadCsvResult, downloadCsv } from '../../activities/download-csv.ts';
import type { LoadRequest } from '../../warehouse/warehouse.ts';
import { aLocation } from '../workflows/invoice-builders.ts';

const INVOICE = '11111111-1111-4111-8111-111111111111';
const LOCATION = aLocation();
const OTHER_HASH = 'c'.repeat(64);

/** @param sizeBytes of the file that comes */
async function bring({
  sizeBytes = 500,
  sha256 = LOCATION.fileHashSha256,
  loadInvoice = async (_: LoadRequest): Promise<unknown> => ({ outcome: 'loaded', shipments: 2 }),
} = {}): Promise<{ readonly result: DownloadCsvResult; readonly asked: readonly LoadRequest[] }> {
  const asked: LoadRequest[] = [];
  const dependencies = {
    service: { downloadCsv: async () => ({ sha256, sizeBytes, scan: {} }) },
    alerts: { raise: () => {}, resolve: () => {} },
    log: pino({ level: 'silent' }),
    loadInvoice: (request: LoadRequest) => {
      asked.push(request);
      return loadInvoice(request);
    },
  } as unknown as BillingDependencies;
  const result = (await new MockActivityEnvironment().run(downloadCsv(dependencies) as never, {
    ...{ invoiceId: INVOICE, location: LOCATION, source: 'event', eventId: 'e1' },
  })) as DownloadCsvResult;
  return { result, asked };
}

describe('downloadCsv', () => {
  test('loads the downloaded file as announced', async () => {
    const { result, asked } = await bring();
    expect(result).toMatchObject({ outcome: 'fetched', loaded: { outcome: 'loaded', shipments: 2 } });
    const sha256 = LOCATION.fileHashSha256;
    const request = { invoiceId: INVOICE, sha256, announcedSha256: sha256, source: 'event', eventId: 'e1' };
    expect(asked).toEqual([{ ...request, workflowRunId: expect.any(String) }]);
  });

  test('records the announced hash of an encoded file', async () => {
    const { asked } = await bring({ sha256: OTHER_HASH });
    const encodedSha256 = LOCATION.fileHashSha256;
    expect(asked).toMatchObject([{ sha256: OTHER_HASH, announcedSha256: OTHER_HASH, encodedSha256 }]);
  });

  test('leaves the load of a large file to the next activity', async () => {
    const { result, asked } = await bring({ sizeBytes: 2 * 1024 * 1024 });
    expect(result).not.toHaveProperty('loaded');
    expect(asked).toEqual([]);
  });

  test('keeps the download when the load fails', async () => {
    const { result } = await bring({
      loadInvoice: async () => {
        throw new Error('The warehouse is closed.');
      },
    });
    expect(result).toMatchObject({ outcome: 'fetched' });
    expect(result).not.toHaveProperty('loaded');
  });
});
