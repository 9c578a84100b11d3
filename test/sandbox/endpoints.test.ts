/** Spec 4.3 to 4.5 and 7: the three endpoints of an invoice and their errors. */
import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { SpecClient } from './support.ts';

let sandbox: Sandbox;
let client: SpecClient;

beforeAll(async () => {
  sandbox = await startSandbox();
  client = new SpecClient(sandbox);
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
});

async function finalized(): Promise<string> {
  const { invoiceId } = await sandbox.createInvoice({ tenant: 'müller', shipments: 40 });
  return (await sandbox.finalize(invoiceId)).invoiceId;
}

const UNKNOWN = '11111111-1111-1111-1111-111111111111';

describe('methods', () => {
  test('another method is answered with 405 and those that are taken', async () => {
    const ping = await client.send(`${sandbox.baseUrl}/api/v1/deliveryexperience/ping`, { method: 'POST' });
    expect([ping.status, ping.headers.allow]).toEqual([405, 'GET, HEAD']);
    const token = await client.send(`${sandbox.authUrl}/oauth/token`);
    expect([token.status, token.headers.allow]).toEqual([405, 'POST']);
    expect(JSON.parse(token.text)).toMatchObject({ error: 'method_not_allowed' });
  });

  test('HEAD says of export-csv what GET would', async () => {
    const url = `${sandbox.baseUrl}/api/v1/billing/invoices/${await finalized()}/export-csv`;
    const headers = { 'x-api-key': sandbox.apiKey };
    const head = await client.send(url, { method: 'HEAD', headers });
    const get = await client.send(url, { headers });
    expect([head.status, head.headers['content-length'], head.bytes.length]).toEqual([
      200,
      String(get.bytes.length),
      0,
    ]);
  });
});

describe('regenerate presigned URL', () => {
  test('spec 4.3: answers the four fields, and the URL downloads a file of that hash and size', async () => {
    const { status, text } = await client.invoice(await finalized(), 'regenerate');
    const body = JSON.parse(text) as Record<string, string | number>;
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual([
      'presignedUrl',
      'presignedUrlExpiresAt',
      'fileHashSha256',
      'fileSizeBytes',
    ]);
    const { bytes } = await client.send(String(body.presignedUrl));
    // Another method is refused, and the query, which is a key, is not repeated.
    const posted = await client.send(String(body.presignedUrl), { method: 'POST' });
    expect(posted.status).toBe(405);
    for (const value of new URL(String(body.presignedUrl)).searchParams.values()) {
      if (value.length > 8) expect(posted.text).not.toContain(value);
    }
    expect(bytes.length).toBe(body.fileSizeBytes);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(body.fileHashSha256);
  });

  test('spec 4.3: needs no body, and takes an empty JSON one', async () => {
    const url = `${sandbox.baseUrl}/api/v1/billing/invoices/${await finalized()}/regenerate-presigned-url`;
    const headers = { authorization: `Bearer ${await client.token()}`, 'content-type': 'application/json' };
    expect((await client.send(url, { method: 'POST', headers })).status).toBe(200);
    expect((await client.send(url, { method: 'POST', headers, body: '{}' })).status).toBe(200);
  });

  test('spec 7: is 404 for an unknown invoice', async () => {
    expect((await client.invoice(UNKNOWN, 'regenerate')).status).toBe(404);
  });

  test('spec 7: is 404 before approval, because the export does not exist', async () => {
    const { invoiceId } = await sandbox.createInvoice();
    const { status, text } = await client.invoice(invoiceId, 'regenerate');
    expect([status, JSON.parse(text)]).toEqual([
      404,
      { error: 'not_found', error_description: expect.any(String) },
    ]);
  });

  test('spec 7: is 400 with error details when no URL can be made', async () => {
    const invoiceId = await finalized();
    sandbox.cancel(invoiceId);
    const { status, text } = await client.invoice(invoiceId, 'regenerate');
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      details: [{ field: 'invoiceId', issue: expect.any(String) }],
    });
  });
});

describe('invoice details', () => {
  test('spec 4.4: returns the invoice with line items that sum to the total', async () => {
    const invoiceId = await finalized();
    const { status, text } = await client.invoice(invoiceId, 'details');
    const details = JSON.parse(text) as Record<string, unknown> & { lineItems: Record<string, unknown>[] };
    const invoice = sandbox.invoice(invoiceId);
    expect(status).toBe(200);
    expect(details).toMatchObject({
      shipiumInvoiceId: invoiceId,
      status: 'APPROVED',
      invoiceStatus: 'finalized',
    });
    expect(details.lineItems).toHaveLength(40);
    const tenThousandths = details.lineItems.reduce(
      (sum, one) => sum + Math.round(Number(one.billingCost) * 1e4),
      0,
    );
    expect(tenThousandths).toBe(Math.round(Number(invoice.totalAmount) * 1e4));
  });

  test('spec 4.4: is 404 for an unknown invoice', async () => {
    expect((await client.invoice(UNKNOWN, 'details')).status).toBe(404);
  });
});

describe('export to CSV', () => {
  test('spec 4.5: downloads the same rows without a webhook', async () => {
    const invoiceId = await finalized();
    const { status, headers, text } = await client.invoice(invoiceId, 'export-csv');
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('text/csv');
    expect(headers['content-disposition']).toContain(invoiceId);
    expect(parse(text, { columns: true })).toHaveLength(40);
  });

  test('spec 4.5: is 404 for an unknown invoice and before approval', async () => {
    const { invoiceId } = await sandbox.createInvoice();
    expect((await client.invoice(UNKNOWN, 'export-csv')).status).toBe(404);
    expect((await client.invoice(invoiceId, 'export-csv')).status).toBe(404);
  });
});

test('spec 9: paths without the version segment do not exist', async () => {
  expect((await client.send(`${sandbox.baseUrl}/api/v2/deliveryexperience/ping`)).status).toBe(404);
});

describe('what the document says of an id or an account', () => {
  test('regenerate: an id that is no UUID is an invoice that does not exist (spec 7)', async () => {
    const url = `${sandbox.baseUrl}/api/v1/billing/invoices/not-a-uuid/regenerate-presigned-url`;
    const { status } = await client.send(url, { method: 'POST', headers: { 'x-api-key': sandbox.apiKey } });
    expect(status).toBe(404);
  });

  test('an account without the billing feature has tokens and ping, and nothing of billing (spec 1)', async () => {
    const without = await startSandbox({ hasBilling: false });
    const caller = new SpecClient(without);
    try {
      const headers = { 'x-api-key': without.apiKey };
      const ping = await caller.send(`${without.baseUrl}/api/v1/deliveryexperience/ping`, { headers });
      const details = await caller.send(`${without.baseUrl}/api/v1/billing/invoices/${UNKNOWN}`, { headers });
      expect([ping.status, details.status]).toEqual([200, 403]);
      expect(() => without.registerWebhook({ name: 'mine', url: 'https://127.0.0.1:1/' })).toThrow(
        /billing feature is not enabled/,
      );
      await expect(without.createInvoice({})).rejects.toThrow(/billing feature is not enabled/);
    } finally {
      await caller.close();
      await without.close();
    }
  });

  test('a carrier invoiced the service before the service invoiced the partner', async () => {
    const invoiceId = await finalized();
    const { invoiceDate } = sandbox.invoice(invoiceId);
    const dates: string[] = [];
    for await (const row of sandbox.billedShipments()) dates.push(row.carrierInvoiceDate ?? '');
    expect(dates.filter((date) => date !== '').length).toBeGreaterThan(20);
    expect(dates.filter((date) => date > invoiceDate)).toEqual([]);
  });
});
