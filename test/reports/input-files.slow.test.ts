import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runReport } from '../../reports/report-session.ts';
import { anInvoice, aShipment, cells, reportsFixture, runReportOn } from '../support/reports-fixture.ts';

const table = async (name: string, ...lines: string[]): Promise<string> => {
  const path = join(tmpdir(), `billsync-${process.pid}-${name}.csv`);
  await writeFile(path, `${lines.join('\r\n')}\r\n`);
  return path;
};

test.each([
  [
    'a doubled column',
    'invoice_number,currency_code,amount,Amount\nI-1,USD,1,2\n',
    'line 1 has the column amount twice',
  ],
  [
    'Windows-1252',
    Buffer.from('invoice_number,currency_code,amount,tenant\nI-1,USD,1,Acm\xe9\n', 'latin1'),
    'line 2 is not UTF-8',
  ],
  [
    'a decimal comma',
    'invoice_number,currency_code,amount\nI-1,USD,"1,50"\n',
    'line 2: amount is "1,50", which has a comma',
  ],
  [
    'a decimal comma without quotes',
    'invoice_number,currency_code,amount\nI-1,USD,1,50\n',
    'line 2 has 4 cells',
  ],
  ['semicolons', 'invoice_number;currency_code;amount\nI-1;USD;1,50\n', 'no commas between its columns'],
  ['nothing', '', 'line 1 is empty: write a header'],
  ['a header alone', 'invoice_number,currency_code,amount\n', 'has no rows below its header'],
])('refuses a file with %s and names the place', async (_what, bytes, message) => {
  const payments = join(tmpdir(), `billsync-${process.pid}-unusable.csv`);
  await writeFile(payments, bytes);
  await expect(runReportOn('payables', [], { tables: { payments } })).rejects.toThrow(message);
});

describe('the optional tables', () => {
  const invoices = [
    anInvoice([
      aShipment({ tracking: 'A', cost: '10', weight: '2', zone: 'Zone 5' }),
      aShipment({ tracking: 'B', cost: '12', weight: '2.5' }),
      aShipment({ tracking: 'C', cost: '4', carrier: 'fedex' }),
    ]),
  ];

  test.each([
    ['rates', 'rate-variance', 'so no line is covered'],
    ['costs', 'margin', 'so no tracking number is covered'],
    ['payments', 'payables', 'so every invoice counts as open'],
    ['payments', 'register', 'so every invoice counts as open'],
    ['statements', 'carrier-statements', 'so every charge counts as not stated'],
    ['budget', 'budget', 'so there are no rows'],
  ])('are reported in the head when missing: no %s, %s', async (name, report, so) => {
    const { head } = await runReportOn(report, invoices);
    expect(head.notes[0]).toContain(`${so} (--${name} FILE, or user/report-files/${name}.csv).`);
  });

  test('are read from the folder beside the published file', async () => {
    const fixture = await reportsFixture(invoices);
    await mkdir(join(fixture.folder, 'user', 'report-files'), { recursive: true });
    await writeFile(
      join(fixture.folder, 'user', 'report-files', 'costs.csv'),
      'carrier,tracking_number,currency_code,cost\nfedex,C,USD,3\n',
    );
    const runWith = (name: string, tables = {}) => runReport({ databasePath: fixture.path, name, tables });
    expect(cells(await runWith('margin'), 'carrier', 'own_cost')).toContainEqual(['fedex', '3.0000']);
    expect((await runWith('carriers')).rows).toHaveLength(2);
    // One that is named is taken instead, and one that the report does not read is refused.
    const others = await table('others', 'carrier,tracking_number,currency_code,cost', 'fedex,D,USD,3');
    expect(cells(await runWith('margin', { costs: others }), 'own_cost')).toEqual([['0.0000'], ['0.0000']]);
    await expect(runWith('carriers', { costs: others })).rejects.toThrow(
      'carriers does not read --costs; it joins no file',
    );
    await fixture.remove();
  });

  test('refuses a file that lacks a column or a number, with the place', async () => {
    const headless = await table('headless', 'carrier,cost', 'ups,1');
    await expect(runReportOn('margin', invoices, { tables: { costs: headless } })).rejects.toThrow(
      'lacks tracking_number, currency_code',
    );
    const words = await table('words', 'carrier,tracking_number,currency_code,cost', 'ups,A,USD,1e3');
    await expect(runReportOn('margin', invoices, { tables: { costs: words } })).rejects.toThrow(
      'line 2: cost is "1e3"',
    );
    await expect(runReportOn('margin', invoices, { tables: { costs: '/no/such/file.csv' } })).rejects.toThrow(
      'cannot be read as costs',
    );
  });
});

describe('weights', () => {
  const header = 'carrier,unit,step,up_to';

  test.each([
    ['dhl,kg,0,', /line 2: step is "0", which is too small: write at least 0.01/],
    ['dhl,kg,-1,', /line 2: step is "-1", which is too small/],
    ['dhl,stone,1,', /line 2: unit is "stone", which is not a unit of weight: write lb, kg or oz/],
    ['dhl,kg,half,', /line 2: step is "half", which is not a number: write digits/],
    ['dhl,kg,,', /line 2: step is empty: write a value/],
    ['dhl,kg,0.5,30', /line 2 is for light weights only: add a line of carrier "dhl" with an empty up_to/],
    ['dhl,kg,0.5,\r\nDHL,lb,1,', /line 3 has the same carrier and up_to as .* line 2: keep one of them/],
  ])('refuses the weights %j, with the line and the correction', async (line, message) => {
    const weights = await table('bad-weights', header, line);
    await expect(runReportOn('rate-card', [], { tables: { weights } })).rejects.toThrow(message);
  });
});

describe('the head', () => {
  const [may, june] = ['2026-05-10', '2026-06-10'];
  const invoices = [
    anInvoice([aShipment({ tracking: 'A', shipDate: may, carrierInvoiceDate: june })], {
      ...{ number: 'INV-1', tenant: 'Acme', differences: [['period', '1', '2']] },
    }),
    anInvoice([aShipment({ tracking: 'V', shipDate: may })], {
      number: 'INV-2',
      state: 'voided',
      voidedAt: june,
    }),
  ];

  test.each([
    [
      'margin',
      'costs',
      'carrier,tracking_number,currency_code,cost',
      ' UPS , A ,usd,7',
      'ups,B,USD,1',
      'ups B USD',
    ],
    [
      'adjustments',
      'disputes',
      'carrier,tracking_number,currency_code,amount',
      'Ups,A,USD,7',
      'ups,V,USD,1',
      'ups V USD',
    ],
    [
      'register',
      'payments',
      'invoice_number,currency_code,amount',
      'INV-1,USD,1',
      'INV-2,USD,1',
      'INV-2 USD',
    ],
    [
      'proof',
      'accepted',
      'invoice_number,rule,reason',
      'INV-1,period,agreed',
      'INV-1,currency,so',
      'INV-1 currency',
    ],
    [
      'carrier-statements',
      'statements',
      'carrier,carrier_invoice_date,currency_code,amount',
      `UPS,${june},USD,1`,
      `ups,${may},USD,1`,
      `ups ${may} USD`,
    ],
    [
      'budget',
      'budget',
      'month,tenant,carrier,currency_code,amount',
      '2026-05,,UPS,USD,1',
      '2026-05,Beta,,USD,1',
      '2026-05 Beta USD',
    ],
    [
      'rate-variance',
      'rates',
      'carrier,service_level,zone,from_lb,to_lb,currency_code,rate',
      'UPS,,,,,USD,9',
      'upss,,,,,USD,9',
      'upss USD',
    ],
    ['rate-card', 'weights', 'carrier,unit,step,up_to', 'UPS,lb,1,', 'dhl,kg,1,', 'dhl'],
  ])(
    'of %s reports how many rows of --%s matched and which did not, regardless of filters',
    async (report, name, header, matching, other, named) => {
      const path = await table(`matched-${name}`, header, matching, other);
      const { head } = await runReportOn(report, invoices, {
        tables: { [name]: path },
        filters: { from: '2026-07-01' },
      });
      expect(head.notes).toContainEqual(
        expect.stringMatching(
          new RegExp(`\\.csv \\(--${name}\\): 1 of 2 rows matched, these did not: line 3 \\(${named}\\)\\.$`),
        ),
      );
    },
  );

  test('lists the first unmatched rows and the number of further ones', async () => {
    const rows = ['A', ...'BCDEFGH'].map((tracking) => `ups,${tracking},USD,1`);
    const costs = await table('many', 'carrier,tracking_number,currency_code,cost', ...rows);
    const { head } = await runReportOn('margin', invoices, { tables: { costs } });
    expect(head.files.join()).toMatch(/1 of 8 rows matched, .*line 7 \(ups F USD\) and 2 more\.$/);
  });

  test('counts exchange rates by the lines that can be converted', async () => {
    const budget = await table('b', 'month,tenant,carrier,currency_code,amount', '2026-05,,,EUR,1');
    const fx = await table(
      'fx',
      'month,from_currency,to_currency,rate',
      '2026-05,USD,EUR,0.9',
      '2026-04,USD,EUR,0.9',
    );
    const { head } = await runReportOn('budget', invoices, { tables: { budget, fx } });
    expect(head.files[1]).toMatch(
      /\(--fx\): 1 of 2 rows matched, these did not: line 3 \(2026-04 USD EUR\)\.$/,
    );
  });
});

describe('any file', () => {
  test('is refused for a misspelt column, an unknown currency and a duplicate rate', async () => {
    const refused = async (name: string, key: string, ...lines: string[]): Promise<string> =>
      runReportOn(name, [], { tables: { [key]: await table('odd', ...lines) } }).then(
        () => 'taken',
        (error: Error) => error.message,
      );
    expect(
      await refused(
        'rate-variance',
        'rates',
        'carrier,service_level,zone,from_lb,to_lb,currency_code,rate,valid_form',
      ),
    ).toContain('line 1: the header has the column "valid_form": write valid_from if you mean that.');
    expect(
      await refused('margin', 'costs', 'carrier,tracking_number,currency_code,cost', 'ups,A,dollar,1'),
    ).toContain('line 2: currency_code is "dollar", which is not a currency');
    expect(
      await refused('budget', 'fx', 'month,from_currency,to_currency,rate', ',eur,USD,1.1', ',EUR,usd,1.2'),
    ).toContain('line 3 has the same month, from_currency and to_currency as');
  });
});
