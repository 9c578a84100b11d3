/** Details contain every line item (spec 4.4): memory and time for an invoice of any size. */

import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { testFolder } from '../support/folders.ts';
import { type ForeignCall, startForeignService } from '../support/foreign-service.ts';
import { serviceSettings } from './service-settings.ts';

const SHIPMENTS = 300_000;
const MAX_GROWTH_BYTES = 160 * 1024 ** 2;

const service = await startForeignService();
const folder = testFolder();
// Long enough that a busy machine does not make an answer that gets on one that does not.
const billing = await clientThatWaits(10_000);
afterAll(async () => {
  await billing.close();
  await service.close();
});

/** @param throughputWindowMs in which at least 100 bytes a second are to come */
async function clientThatWaits(throughputWindowMs: number): Promise<BillingService> {
  const archive = await openFolderArchive(join(folder, 'archive'));
  const settings = serviceSettings(service, { dataDir: folder });
  return createBillingService({
    ...{ settings, archive },
    limits: { throughputWindowMs, minBytesPerSecond: 100 },
  });
}

/** The invoice in front of its items, its status behind them: only who reads to the end knows it. */
function* detailsOf({ invoice }: ForeignCall, shipments: number): Generator<string> {
  yield `{"result":{"invoice":{"id":"${invoice?.invoiceId}","invoiceTotalAmount":12345678901234.5600,"lineItems":[`;
  const item = `{"shipmentId":"11111111-1111-1111-1111-111111111111","shipDate":"2026-10-01","origin":"00501","currencyCode":"USD","billingCost":12.3456,"billableWeight":1.25,"billableWeightUnit":"LB","trackingNumber":"1Z999AA10123456784","carrier":"UPS","zone":"Zone 4","status":"APPROVED","serviceLevel":"Übernacht"}`;
  const hundred = Array.from({ length: 100 }, () => item).join(',');
  for (let sent = 100; sent < shipments; sent += 100) yield `${hundred},`;
  yield `${hundred}],"invoiceStatus":"CANCELLED"}}}`;
}

test('reads a void behind 300,000 line items in bounded memory', async () => {
  const { invoiceId } = await service.createInvoice();
  let sentBytes = 0;
  service.play('details', (call) => {
    const body = Readable.from(detailsOf(call, SHIPMENTS));
    body.on('data', (text: string) => {
      sentBytes += Buffer.byteLength(text);
    });
    body.pipe(call.response.writeHead(200, { 'content-type': 'application/json' }));
  });
  const held = () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = held();
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, held() - before);
  }, 20);
  const details = await billing.lookUpInvoice(invoiceId).finally(() => clearInterval(watch));
  expect(details).toMatchObject({
    status: 'voided',
    header: { invoiceId, invoiceTotalAmount: '12345678901234.5600' },
  });
  expect(sentBytes).toBeGreaterThan(80e6);
  expect(most).toBeLessThan(MAX_GROWTH_BYTES);
});

test('gives up on a stalled or truncated answer', async () => {
  const { invoiceId } = await service.createInvoice();
  service.play('details', (call) => {
    call.response.writeHead(200, { 'content-type': 'application/json' });
    call.response.write('{"result":{"invoice":{');
  });
  const hasty = await clientThatWaits(300);
  await expect(hasty.lookUpInvoice(invoiceId)).rejects.toMatchObject({ code: 'deadline-exceeded' });
  await hasty.close();
  service.play('details', (call) => {
    call.response.writeHead(200, { 'content-type': 'application/json' });
    call.response.end('{"result":{"invoice":{');
  });
  await expect(billing.lookUpInvoice(invoiceId)).rejects.toMatchObject({ code: 'unexpected-answer' });
});
