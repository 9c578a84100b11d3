/** A small file is loaded by the activity that downloads it; a failed load is left to the workflow. */

import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { BillingDependencies } from '../../activities/dependencies.ts';
import { createFileActivities } from '../../activities/files.ts';
import type { LoadRequest } from '../../lib/wire/warehouse-requests.ts';
import type { DownloadCsvResult } from '../../workflows/activities.ts';
import { aLocation } from '../workflows/invoice-builders.ts';

const INVOICE = '11111111-1111-4111-8111-111111111111';
const LOCATION = aLocation();
const OTHER_HASH = 'c'.repeat(64);

/** @param sizeBytes of the received file */
async function download({
  sizeBytes = 500,
  sha256 = LOCATION.fileHashSha256,
  loadInvoice = async (_: LoadRequest): Promise<unknown> => ({ outcome: 'loaded', shipments: 2 }),
} = {}): Promise<{ readonly result: DownloadCsvResult; readonly requests: readonly LoadRequest[] }> {
  const requests: LoadRequest[] = [];
  const dependencies = {
    service: { downloadCsv: async () => ({ sha256, sizeBytes, scan: {} }) },
    alerts: { raise: () => {}, resolve: () => {} },
    log: pino({ level: 'silent' }),
    loadInvoice: (request: LoadRequest) => {
      requests.push(request);
      return loadInvoice(request);
    },
  } as unknown as BillingDependencies;
  const result = (await new MockActivityEnvironment().run(
    createFileActivities(dependencies).downloadCsv as never,
    {
      ...{ invoiceId: INVOICE, location: LOCATION, source: 'event', eventId: 'e1' },
    },
  )) as DownloadCsvResult;
  return { result, requests };
}

describe('downloadCsv', () => {
  test('loads the downloaded file as announced', async () => {
    const { result, requests } = await download();
    expect(result).toMatchObject({ outcome: 'fetched', loaded: { outcome: 'loaded', shipments: 2 } });
    const sha256 = LOCATION.fileHashSha256;
    const request = { invoiceId: INVOICE, sha256, announcedSha256: sha256, source: 'event', eventId: 'e1' };
    expect(requests).toEqual([{ ...request, workflowRunId: expect.any(String) }]);
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
});
