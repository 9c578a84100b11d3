/**
 * A program of new-column.test.ts, run in a copy of the code whose table of columns has an entry more. It opens the
 * warehouse that today's code made, loads a file with the new column and one without it, and prints what is there.
 */

import { CSV_HEADERS, type CsvHeader } from '../../lib/wire/csv-file.ts';
import { aCsv, aWarehouse, type Cells, loadCsv, queryFile, settingsFor } from './support.ts';

const [, , dataDir = ''] = process.argv;
const isNew = (header: string): boolean => header === 'Fuel Surcharge';
const fuel = (amount: string): Cells => ({ ['Fuel Surcharge' as CsvHeader]: amount });
const ids = ['2', '3', '4'].map((digit) => `${digit.repeat(8)}-2222-4222-8222-222222222222`) as [
  string,
  string,
  string,
];

const t = await aWarehouse({ settings: settingsFor(dataDir) });
const load = async (invoiceId: string, csv: Buffer): Promise<string> =>
  (await loadCsv(t, csv, { invoiceId })).outcome;
const outcomes = [
  await load(ids[0], aCsv([fuel('0.25'), fuel('')], ids[0])),
  await load(
    ids[1],
    aCsv(
      [{}, {}],
      ids[1],
      CSV_HEADERS.filter((header) => !isNew(header)),
    ),
  ),
  await load(ids[2], aCsv([fuel('a lot')], ids[2])),
];
const { drift } = await t.warehouse.verify({ full: true });
const { path } = await t.warehouse.publish();
const rows = await queryFile(
  path,
  'select tracking_number, fuel_surcharge, added_columns from shipments order by invoice_id, row_number',
);
process.stdout.write(JSON.stringify({ outcomes, drift, rows }));
await t.warehouse.close();
await t.archive.close();
