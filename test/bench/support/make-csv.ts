/** Writes an invoice CSV of any size, the same for the same number of rows, with the awkward text that real ones have. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { CSV_EDITIONS, CSV_HEADERS } from '../../../lib/wire/csv-file.ts';

export const BENCH_INVOICE = '7f3a0000-1111-4222-8333-444455556666';
const TENANTS = ['Acme', '"Globex, Inc."', '"O""Brien & Sons"', '"Zoë\r\nLogistics"', 'Initech'];
const CARRIERS = ['UPS', 'FedEx', 'USPS', 'DHL'];
/** Empty: the columns that files did not have at first. */
const LATER = ','.repeat(CSV_HEADERS.length - (CSV_EDITIONS[0]?.length ?? 0));
const SERVICES = ['Ground', '2nd Day Air', '"Next Day, AM"', ''];

/** @param firstNumber of the tracking numbers: files that share none repeat none */
export async function makeCsv(
  path: string,
  rows: number,
  invoiceId = BENCH_INVOICE,
  firstNumber = 0,
): Promise<void> {
  const file = createWriteStream(path, { highWaterMark: 1 << 20 });
  let state = 20_260_301;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const pick = (of: readonly string[]): string => of[next(of.length)] ?? '';
  let block = `${CSV_HEADERS.join(',')}\r\n`;
  for (let row = 0; row < rows; row += 1) {
    const day = `${1 + next(28)}`.padStart(2, '0');
    const cost = `${next(99)}.${`${next(10_000)}`.padStart(4, '0')}`;
    const weight = `${next(70)}.${next(10)}`;
    block +=
      `${pick(TENANTS)},2026-02-28,${invoiceId},2026-02-${day},${`${next(99_999)}`.padStart(5, '0')},USD,${cost},${weight},` +
      `${next(10) === 0 ? 'KG' : 'LB'},1Z${`${firstNumber + row}`.padStart(16, '0')},${pick(CARRIERS)},${2 + next(7)},2026-02-${day},${pick(SERVICES)}${LATER}\r\n`;
    if (block.length > 1 << 20) {
      if (!file.write(block)) await once(file, 'drain');
      block = '';
    }
  }
  file.end(block);
  await once(file, 'finish');
}
