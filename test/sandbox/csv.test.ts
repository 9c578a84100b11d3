/** Spec 2.8 and 2.9: the invoice CSV, read back by an independent reader. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MALFORMATION_NAMES } from '../../sandbox/faults/malformed-csv.ts';
import { startSandbox } from '../../sandbox/service.ts';
import { envelope, SpecClient } from './support.ts';

const sandbox = await startSandbox();
const client = new SpecClient(sandbox);

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

describe('the file', () => {
  let csv: string;
  let invoiceId: string;

  beforeAll(async () => {
    ({ invoiceId } = await sandbox.createInvoice({ tenant: 'two lines', shipments: 2_000 }));
    csv = await csvOf(invoiceId);
  });

  test('contains the characters and gaps that break careless readers', () => {
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
});

describe('malformed files', () => {
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

  async function urlOf(invoiceId: string): Promise<string> {
    await sandbox.finalize(invoiceId);
    return String(envelope({ body: sandbox.events().at(-1)?.body ?? '' }).payload.presignedUrl);
  }
});
