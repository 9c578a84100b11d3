import { X509Certificate } from 'node:crypto';
import { readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { aDelivery, basic, deliver } from '../webhook/a-delivery.ts';

let service: ForeignService;
let product: Product;

beforeAll(async () => {
  service = await startForeignService();
  product = await createProduct({ service });
  await product.start('up');
  const caPem = readFileSync(join(product.dataDir, 'keys', 'webhook-cert.pem'), 'utf8');
  service.register({ url: product.webhookUrl, headers: { authorization: basic() }, caPem });
});
afterAll(async () => {
  await product?.close();
  await service?.close();
});

async function scrape(): Promise<ReadonlyMap<string, number>> {
  const page = await (await fetch(`${product.address('up', 'dashboard')}metrics`)).text();
  const values = new Map<string, number>();
  for (const [, name = '', labels = '', value] of page.matchAll(/^billsync_(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const others = labels.split(',').filter((label) => label !== '' && !label.startsWith('role='));
    const key = others.length === 0 ? name : `${name}{${others.join(',')}}`;
    values.set(key, (values.get(key) ?? 0) + Number(value));
  }
  return values;
}

test('counts received, downloaded, loaded, refused, published and voided invoices', async () => {
  const kept = await service.createInvoice({ rows: 3 });
  const gone = await service.createInvoice({ rows: 2 });
  for (const { invoiceId } of [kept, gone]) await service.finalize(invoiceId);
  await eventually(async () => (await scrape()).get('invoices{state="loaded"}') === 2);
  await service.void(gone.invoiceId);
  await service.deliver(service.events[0] ?? '');
  for (let times = 0; times < 2; times += 1) await deliver(product.webhookUrl, `{${times}`);
  await deliver(
    product.webhookUrl,
    aDelivery({ metadata: { partnerId: service.partnerId, eventType: 'invoice_paid' } }).body,
  );
  await deliver(
    product.webhookUrl,
    aDelivery({ metadata: { partnerId: service.partnerId, testEvent: true } }).body,
  );
  await deliver(product.webhookUrl, '{}', { headers: { authorization: basic('hook', 'wrong') } });
  await eventually(async () => {
    const page = await scrape();
    return page.get('invoices{state="voided"}') === 1 && page.get('quarantine_depth{kind="delivery"}') === 3;
  });

  const page = await scrape();
  const bytes = [kept, gone].reduce(
    (sum, { invoiceId }) => sum + service.exportOf(invoiceId).fileSizeBytes,
    0,
  );
  expect(Object.fromEntries(page)).toMatchObject({
    'deliveries_total{status="accepted"}': 5,
    'deliveries_total{status="duplicate"}': 1,
    'deliveries_total{status="rejected"}': 2,
    'deliveries_total{status="quarantined"}': 1,
    'deliveries_total{status="ignored"}': 1,
    'deliveries_total{status="unauthorized"}': 1,
    'quarantine_depth{kind="delivery"}': 3,
    'quarantine_depth{kind="file"}': 0,
    acknowledge_seconds_count: 11,
    'invoices{state="loaded"}': 1,
    'invoices{state="voided"}': 1,
    'invoices{state="draft"}': 0,
    // The unknown event.
    'invoices{state="needs_attention"}': 1,
    shipments: 3,
    downloaded_bytes_total: bytes,
    'loads_total{outcome="loaded"}': 2,
    loaded_rows_total: 5,
    load_seconds_count: 2,
    load_batch_files_sum: 2,
    'service_calls_total{endpoint="storage",answer="200"}': 2,
    'service_call_seconds_count{endpoint="storage"}': 2,
    inbox_backlog: 0,
    inbox_backlog_age_seconds: 0,
    publication_failures_total: 0,
    'component_up{component="endpoint"}': 1,
    'component_up{component="billing service"}': 1,
    // One for each reason.
    'alerts_open{alert="quarantine",severity="warning"}': 2,
  });

  // Its tokens live for seconds: another may just be on its way.
  const tokens = page.get('service_calls_total{endpoint="token",answer="200"}') ?? 0;
  expect(tokens).toBeGreaterThan(0);
  expect(tokens).toBeLessThanOrEqual(service.tokensIssued());

  const now = Date.now() / 1_000;
  const { out } = await product.command('snapshot', '--json');
  const { sequence, published_at } = JSON.parse(out) as { sequence: number; published_at: string };
  // Another may have followed.
  await eventually(async () => ((await scrape()).get('publication_sequence') ?? 0) >= sequence);
  const later = await scrape();
  const publishedFor = (later.get('publication_timestamp_seconds') ?? 0) - Date.parse(published_at) / 1_000;
  expect(publishedFor).toBeGreaterThanOrEqual(-1);
  expect(publishedFor).toBeLessThan(60);
  const loadedAt = later.get('last_load_timestamp_seconds') ?? 0;
  expect(loadedAt).toBeLessThan(now);
  expect(loadedAt).toBeGreaterThan(now - 300);
  const tokenFrom = later.get('token_obtained_timestamp_seconds') ?? 0;
  expect((later.get('token_expiry_timestamp_seconds') ?? 0) - tokenFrom).toBeGreaterThan(0);
  expect(now - tokenFrom).toBeLessThan(300);
  const { validTo } = new X509Certificate(readFileSync(join(product.dataDir, 'keys', 'webhook-cert.pem')));
  expect(later.get('webhook_certificate_expiry_timestamp_seconds')).toBe(Date.parse(validTo) / 1_000);
  const { bsize, blocks, bavail } = statfsSync(product.dataDir);
  expect(later.get('disk_size_bytes')).toBe(bsize * blocks);
  expect(Math.abs((later.get('disk_free_bytes') ?? 0) / (bsize * bavail) - 1)).toBeLessThan(0.05);
});
