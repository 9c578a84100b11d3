/** Spec 2.8 and 2.9: the invoice CSV, read back by an independent reader. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MALFORMATION_NAMES } from '../../sandbox/faults/malformed-csv.ts';
import { type BilledRow, type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { envelope, SpecClient } from './support.ts';

const HEADER =
  'Tenant,Invoice Generation Date,Invoice ID,Ship Date,Origin,Currency Code,Billing Cost,Billable Weight,' +
  'Billable Weight Unit,Tracking Number,Carrier,Carrier Zone,Carrier Invoice Date,Service Level';

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

async function csvOf(invoiceId: string): Promise<string> {
  await sandbox.finalize(invoiceId);
  return (await client.invoice(invoiceId, 'export-csv')).text;
}

type Row = Record<string, string>;
const rowsOf = (csv: string) => parse(csv, { columns: true, relax_column_count: false }) as Row[];
const cents = (text: string) => BigInt(Math.round(Number(text) * 1e4));
const sum = (rows: readonly Row[]) =>
  rows.reduce((total, row) => total + cents(row['Billing Cost'] ?? ''), 0n);

async function billedRows(invoiceId: string): Promise<BilledRow[]> {
  const rows: BilledRow[] = [];
  for await (const row of sandbox.billedShipments()) if (row.invoiceId === invoiceId) rows.push(row);
  return rows;
}

describe('the file', () => {
  let csv: string;
  let invoiceId: string;

  beforeAll(async () => {
    ({ invoiceId } = await sandbox.createInvoice({ tenant: 'two lines', shipments: 2_000 }));
    csv = await csvOf(invoiceId);
  });

  test('spec 2.8: starts with the header', () => {
    expect(csv.split('\r\n', 1)).toEqual([HEADER]);
  });

  test('spec 2.8: ends every record in CRLF, and quotes fields with commas, quotes and line breaks', () => {
    expect(csv.endsWith('\r\n')).toBe(true);
    expect(csv).toContain('"Two Lines\r\nLogistics"');
    const outside = csv.replaceAll(/"(?:[^"]|"")*"/g, '');
    expect(outside).not.toMatch(/[^\r]\n|\r[^\n]|"/);
  });

  test('spec 2.8: every cell is of its column’s form', () => {
    for (const row of rowsOf(csv)) {
      expect(row).toMatchObject({
        Tenant: 'Two Lines\r\nLogistics',
        'Invoice ID': invoiceId,
        'Currency Code': 'USD',
      });
      expect(row['Invoice Generation Date']).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(row['Ship Date']).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(row['Billing Cost']).toMatch(/^-?\d+\.\d{2,4}$/);
      expect(`${row['Billable Weight']} ${row['Billable Weight Unit']}`).toMatch(
        /^(\d+(\.\d{1,4})? (LB|KG)| )$/,
      );
      expect(row['Tracking Number']).not.toBe('');
      expect(row.Carrier).not.toBe('');
      expect(row['Carrier Invoice Date']).toMatch(/^(\d{4}-\d\d-\d\d)?$/);
      // A carrier's invoice that is billed on cannot be younger than the bill.
      expect((row['Carrier Invoice Date'] ?? '') <= (row['Invoice Generation Date'] ?? '')).toBe(true);
    }
  });

  test('holds what makes readers stumble', () => {
    const rows = rowsOf(csv);
    const has = (column: string, pattern: RegExp) => rows.some((row) => pattern.test(row[column] ?? ''));
    const found = {
      negativeCost: has('Billing Cost', /^-/),
      fourDecimals: has('Billing Cost', /\.\d{4}$/),
      leadingZeros: has('Origin', /^0/),
      comma: has('Service Level', /,/),
      quote: has('Service Level', /"/),
      lineFeed: has('Service Level', /[^\r]\n/),
      carriageReturn: has('Service Level', /\r\n/),
      nonAscii: has('Service Level', /[^\x20-\x7e\r\n]/),
      formula: has('Service Level', /^[=+@-]/),
      emptyOrigin: has('Origin', /^$/),
      emptyWeight: has('Billable Weight', /^$/),
      emptyZone: has('Carrier Zone', /^$/),
      emptyCarrierDate: has('Carrier Invoice Date', /^$/),
      emptyLevel: has('Service Level', /^$/),
      pounds: has('Billable Weight Unit', /^LB$/),
      kilograms: has('Billable Weight Unit', /^KG$/),
    };
    expect(Object.entries(found).filter(([, isThere]) => !isThere)).toEqual([]);
  });

  test('spec 2.6: total and count of the payload are exactly those of the rows', () => {
    const { totalAmount, shipmentCount } = sandbox.invoice(invoiceId);
    const rows = rowsOf(csv);
    expect([rows.length, sum(rows)]).toEqual([shipmentCount, cents(totalAmount)]);
  });

  test('equals the billed rows, cell by cell', async () => {
    const billed = (await billedRows(invoiceId)).map((row) => [
      row.billingCost,
      row.zone ?? '',
      row.trackingNumber,
    ]);
    const read = rowsOf(csv).map((row) => [row['Billing Cost'], row['Carrier Zone'], row['Tracking Number']]);
    expect(read).toEqual(billed);
  });
});

describe('levels', () => {
  test('spec 2.9: a partner-level invoice has null tenants and sums the shipments of all tenants', async () => {
    const own = await startSandbox();
    const parts = [];
    for (const tenant of ['000417', 'ZOE-1', '=1+1'])
      parts.push(await own.createInvoice({ tenant, shipments: 9 }));
    const canceled = await own.createInvoice({ tenant: '000417', shipments: 9 });
    own.cancel(canceled.invoiceId);
    await own.createInvoice({ tenant: 'müller', shipments: 9 });
    const { invoiceId } = await own.createInvoice({ partnerLevel: true });
    await own.finalize(invoiceId);
    const { payload } = envelope({ body: own.events().at(-1)?.body ?? '' });
    expect(payload).toMatchObject({
      shipiumTenantId: null,
      partnerTenantId: null,
      totalTransactionCount: 27,
    });
    expect(cents(String(payload.invoiceTotalAmount))).toBe(
      parts.reduce((total, { totalAmount }) => total + cents(totalAmount), 0n),
    );
    const reader = new SpecClient(own);
    const rows = rowsOf((await reader.invoice(invoiceId, 'export-csv')).text);
    expect(new Set(rows.map((row) => row.Tenant))).toEqual(new Set([own.partner.name]));
    expect(new Set(rows.map((row) => row['Invoice ID']))).toEqual(new Set([invoiceId]));
    expect(sum(rows)).toBe(cents(String(payload.invoiceTotalAmount)));
    await reader.close();
    await own.close();
  });

  test('spec 2.9: a tenant-level invoice names its tenant in payload and CSV', async () => {
    const { invoiceId, tenantId } = await sandbox.createInvoice({ tenant: 'ZOE-1' });
    const rows = rowsOf(await csvOf(invoiceId));
    const { payload } = envelope({ body: sandbox.events().at(-1)?.body ?? '' });
    expect(payload).toMatchObject({ shipiumTenantId: tenantId, partnerTenantId: 'ZOE-1' });
    expect(rows[0]?.Tenant).toBe('Zoë’s "Fine" Goods');
  });

  test('spec 1: an enterprise partner is billed without tenants', async () => {
    const own = await startSandbox({ partnerKind: 'enterprise' });
    const { invoiceId, tenantId } = await own.createInvoice({ shipments: 5 });
    await own.finalize(invoiceId);
    const reader = new SpecClient(own);
    const rows = rowsOf((await reader.invoice(invoiceId, 'export-csv')).text);
    expect([tenantId, rows.length, rows[0]?.Tenant]).toEqual([null, 5, own.partner.name]);
    await reader.close();
    await own.close();
  });
});

describe('malformed files', () => {
  test('there are at least twenty kinds', () => {
    expect(MALFORMATION_NAMES.length).toBeGreaterThanOrEqual(20);
  });

  test.each(MALFORMATION_NAMES)(
    '%s: differs from the right file, hash and size are true to it',
    async (kind) => {
      const own = sandbox.faults.add({ name: 'malformed-csv', count: 1, params: { kind } });
      const { invoiceId } = await sandbox.createInvoice({ tenant: '000417', shipments: 6 });
      const broken = (await client.send(await urlOf(invoiceId))).bytes;
      const announced = sandbox.invoice(invoiceId).exports.at(-1);
      const right = sandbox.invoice(invoiceId).file;
      sandbox.faults.clear(own.faultId);
      expect(announced).toMatchObject({ malformation: kind, sizeBytes: broken.length });
      expect(announced?.sha256).not.toBe(right.sha256);
      const repaired = await sandbox.repair(invoiceId);
      expect(repaired.exports.at(-1)).toMatchObject({ sha256: right.sha256, malformation: null });
    },
  );

  test('a broken file is the right one but for its fault', async () => {
    sandbox.faults.add({ name: 'malformed-csv', count: 1, params: { kind: 'no-final-line-end' } });
    const { invoiceId } = await sandbox.createInvoice({ tenant: '000417', shipments: 6 });
    const broken = (await client.send(await urlOf(invoiceId))).text;
    await sandbox.repair(invoiceId);
    expect(`${broken}\r\n`).toBe((await client.invoice(invoiceId, 'export-csv')).text);
  });

  async function urlOf(invoiceId: string): Promise<string> {
    await sandbox.finalize(invoiceId);
    return String(envelope({ body: sandbox.events().at(-1)?.body ?? '' }).payload.presignedUrl);
  }
});
