/** What invoices state against what their files hold: small cases worked out by hand. */

import { describe, expect, test } from 'vitest';
import { askReport, cells } from '../support/reports/ask-report.ts';
import { anInvoice, aShipment } from '../support/reports/reports-fixture.ts';

describe('proof', () => {
  test('sets each invoice against its header', async () => {
    const result = await askReport('proof', [
      anInvoice([aShipment({ cost: '5' })], { number: 'A' }),
      anInvoice([aShipment({ cost: '5' })], { number: 'B', statedTotal: '6.5', statedShipments: 2 }),
      anInvoice([aShipment({ cost: '5' })], { number: 'C', proof: 'unproved' }),
      anInvoice([], { number: 'D', state: 'finalized', statedTotal: '9', statedShipments: 3 }),
      anInvoice([aShipment({ cost: '5' })], {
        number: 'E',
        state: 'voided',
        voidedAt: '2026-03-20T00:00:00Z',
      }),
    ]);
    expect(
      cells(result, 'invoice_number', 'shipments_difference', 'difference', 'differences', 'verdict'),
    ).toEqual([
      ['B', -1, '-1.5000', 'shipment-count, total-amount', 'contradicted'],
      ['A', 0, '0.0000', null, 'proved'],
      ['C', 0, '0.0000', null, 'unproved'],
      ['D', null, null, null, 'not loaded'],
      ['E', 0, '0.0000', null, 'voided, not counted'],
    ]);
  });
});

describe('proof, by gravity', () => {
  test('puts the wrong total first, and calls nothing contradicted for the dates of late charges', async () => {
    const result = await askReport('proof', [
      anInvoice([aShipment({ cost: '5' })], {
        number: 'late',
        differences: [['period', '2026-03', '2026-02-20']],
      }),
      anInvoice([aShipment({ cost: '5' })], { number: 'small', statedTotal: '5.01' }),
      anInvoice([aShipment({ cost: '5' })], { number: 'large', statedTotal: '905' }),
      anInvoice([aShipment({ cost: '5' })], { number: 'count', statedShipments: 3 }),
    ]);
    expect(cells(result, 'invoice_number', 'grade', 'verdict')).toEqual([
      ['large', 'money', 'contradicted'],
      ['small', 'money', 'contradicted'],
      ['count', 'count', 'contradicted'],
      ['late', 'dates', 'proved'],
    ]);
    // One euro invoice with the usual dates of late charges does not stand before a dollar that is wrong: what is grave comes first,
    // whatever its currency.
    const two = await askReport('proof', [
      anInvoice([aShipment({ cost: '5', currency: 'EUR' })], {
        number: 'late in euros',
        currency: 'EUR',
        differences: [['period', '2026-03', '2026-02-20']],
      }),
      anInvoice([aShipment({ cost: '5' })], { number: 'wrong in dollars', statedTotal: '6' }),
    ]);
    expect(cells(two, 'invoice_number', 'grade')).toEqual([
      ['wrong in dollars', 'money'],
      ['late in euros', 'dates'],
    ]);
    // The head of every report counts the same three.
    expect(result.head.notes).toContain(
      'Contradicted by their own header or event: 3 invoices; the report proof says how.',
    );
  });
});

describe('proof of an invoice in another currency than its header says', () => {
  test('names each amount by its own currency and takes neither from the other', async () => {
    const result = await askReport('proof', [
      anInvoice([aShipment({ cost: '5', currency: 'USD' })], { currency: 'GBP', statedTotal: '4' }),
    ]);
    expect(
      cells(result, 'currency_code', 'billing_cost', 'stated_currency', 'stated_total', 'difference'),
    ).toEqual([['USD', '5.0000', 'GBP', '4.0000', null]]);
  });
});

describe('levels', () => {
  test('matches both levels by tracking number', async () => {
    const tenant = [
      aShipment({ tracking: 'A', cost: '5' }),
      aShipment({ tracking: 'B', cost: '6' }),
      aShipment({ tracking: 'C', cost: '7' }),
    ];
    const partner = [
      aShipment({ tracking: 'A', cost: '5' }),
      aShipment({ tracking: 'B', cost: '6.5' }),
      aShipment({ tracking: 'D', cost: '1' }),
    ];
    const result = await askReport('levels', [anInvoice(tenant), anInvoice(partner, { level: 'partner' })]);
    expect(
      cells(
        result,
        'tenant_level_cost',
        'partner_level_cost',
        'difference',
        'only_at_tenant_level',
        'only_at_partner_level',
        'cost_differs',
      ),
    ).toEqual([['18.0000', '12.5000', '-5.5000', 1, 1, 1]]);
    // Nothing is left out, and the head does not say so.
    expect(result.head).toMatchObject({ level: 'all', shipments: 6 });
    expect(result.head.notes).toEqual([
      'Both levels are read and set side by side; a shipment billed at both counts once at each.',
    ]);
  });

  test('adds the lines of a number on each side, and counts it once, in its first month', async () => {
    const tenant = [
      aShipment({ tracking: 'A', cost: '5', shipDate: '2026-02-27' }),
      aShipment({ tracking: 'A', cost: '-1', shipDate: '2026-03-02' }),
      aShipment({ tracking: 'A', cost: '2', carrier: 'another', shipDate: '2026-02-27' }),
      aShipment({ tracking: 'B', cost: '3', shipDate: '2026-03-05' }),
      aShipment({ tracking: 'C', cost: '3', shipDate: '2026-03-05' }),
    ];
    const partner = [
      aShipment({ tracking: 'A', cost: '4', shipDate: '2026-03-02' }),
      aShipment({ tracking: 'D', cost: '7', shipDate: '2026-03-05' }),
      aShipment({ tracking: 'D', cost: '8', shipDate: '2026-03-06' }),
    ];
    const result = await askReport('levels', [anInvoice(tenant), anInvoice(partner, { level: 'partner' })]);
    const [carrier] = tenant.map((line) => line.carrier);
    expect(
      cells(
        result,
        'month',
        'carrier',
        'tenant_level_numbers',
        'partner_level_numbers',
        'tenant_level_cost',
        'partner_level_cost',
        'only_at_tenant_level',
        'only_at_partner_level',
        'cost_differs',
      ).toSorted(),
    ).toEqual(
      [
        ['2026-02', 'another', 1, 0, '2.0000', '0.0000', 1, 0, 0],
        ['2026-02', carrier, 1, 1, '4.0000', '4.0000', 0, 0, 0],
        ['2026-03', carrier, 2, 1, '6.0000', '15.0000', 2, 1, 0],
      ].toSorted(),
    );
  });
});

describe('rebills', () => {
  const voided = { state: 'voided', voidedAt: '2026-03-20T00:00:00Z' } as const;

  test('finds the replacement by shared tracking numbers, and says what nobody billed again', async () => {
    const result = await askReport('rebills', [
      anInvoice([aShipment({ tracking: 'A', cost: '5' }), aShipment({ tracking: 'B', cost: '6' })], {
        number: 'V1',
        ...voided,
      }),
      anInvoice([aShipment({ tracking: 'Z', cost: '9' })], { number: 'V2', ...voided }),
      anInvoice([aShipment({ tracking: 'A', cost: '4' }), aShipment({ tracking: 'B', cost: '6' })], {
        number: 'R1',
      }),
    ]);
    expect(
      cells(
        result,
        'invoice_number',
        'outcome',
        'replacement_number',
        'shared_percent',
        'difference',
        'missing_cost',
      ),
    ).toEqual([
      ['V1', 'billed again', 'R1', '100.00', '-1.0000', null],
      ['V2', 'not billed again', null, null, null, '9.0000'],
    ]);
  });

  test('takes one shared number of many for no replacement', async () => {
    // 20 numbers at 2 each; the other invoice has one of them, 5 % of the numbers.
    const lines = Array.from({ length: 20 }, (_, index) => aShipment({ tracking: `N${index}`, cost: '2' }));
    const result = await askReport('rebills', [
      anInvoice(lines, { number: 'V', ...voided }),
      anInvoice([aShipment({ tracking: 'N7', cost: '3' })], { number: 'adjusts' }),
    ]);
    expect(cells(result, 'outcome', 'missing_numbers', 'missing_cost')).toEqual([
      ['not billed again', 20, '40.0000'],
    ]);
  });

  test('takes no invoice that was there before for a replacement', async () => {
    const result = await askReport('rebills', [
      anInvoice([aShipment({ tracking: 'A', invoiceDate: '2026-03-10' })], { ...voided }),
      anInvoice([aShipment({ tracking: 'A', invoiceDate: '2026-02-10' })]),
    ]);
    expect(cells(result, 'outcome')).toEqual([['not billed again']]);
  });
});

describe('restatement', () => {
  const invoices = [
    anInvoice([aShipment({ cost: '5' })], { number: 'same', loadedAt: '2026-01-05T00:00:00Z' }),
    anInvoice([aShipment({ cost: '7' })], { number: 'late', loadedAt: '2026-02-05T00:00:00Z' }),
    anInvoice([aShipment({ cost: '9' })], {
      number: 'gone',
      loadedAt: '2026-01-05T00:00:00Z',
      state: 'voided',
      voidedAt: '2026-02-10T00:00:00Z',
    }),
    anInvoice([aShipment({ cost: '12' })], {
      number: 'again',
      loadedAt: '2026-02-15T00:00:00Z',
      earlier: [
        {
          loadedAt: '2026-01-05T00:00:00Z',
          shipments: [aShipment({ cost: '10' }), aShipment({ cost: '1' })],
        },
      ],
    }),
  ];

  test('names the cause of every difference between two instants', async () => {
    const result = await askReport('restatement', invoices, {
      parameters: { first: '2026-02-01', second: '2026-03-01' },
    });
    expect(cells(result, 'invoice_number', 'cause', 'cost_first', 'cost_second', 'difference')).toEqual([
      ['gone', 'voided', '9.0000', '0.0000', '-9.0000'],
      ['late', 'loaded', '0.0000', '7.0000', '7.0000'],
      ['again', 'new file', '11.0000', '12.0000', '1.0000'],
    ]);
  });

  test('ends at the instant that is asked for', async () => {
    const result = await askReport('restatement', invoices, {
      filters: { asKnownOn: '2026-02-12T00:00:00Z' },
      parameters: { first: '2026-02-01' },
    });
    expect(cells(result, 'invoice_number', 'cause')).toEqual([
      ['gone', 'voided'],
      ['late', 'loaded'],
    ]);
  });

  test('calls a currency that a new file no longer bills no void', async () => {
    const [usd, eur] = ['USD', 'EUR'].map((currency) => aShipment({ cost: '10', currency }));
    if (usd === undefined || eur === undefined) throw new Error('two lines');
    const earlier = [{ loadedAt: '2026-01-05T00:00:00Z', shipments: [usd, eur] }];
    const result = await askReport(
      'restatement',
      [anInvoice([usd], { loadedAt: '2026-02-15T00:00:00Z', earlier })],
      { parameters: { first: '2026-02-01', second: '2026-03-01' } },
    );
    expect(cells(result, 'currency_code', 'cause', 'difference')).toEqual([['EUR', 'new file', '-10.0000']]);
  });

  test('lists nothing where a new file differs outside the filters only', async () => {
    const before = [
      aShipment({ tracking: 'A', cost: '10' }),
      aShipment({ tracking: 'B', carrier: 'dhl', cost: '1' }),
    ];
    const after = [
      aShipment({ tracking: 'A', cost: '10' }),
      aShipment({ tracking: 'B', carrier: 'dhl', cost: '2' }),
    ];
    const renewed = [
      anInvoice(after, {
        loadedAt: '2026-02-15T00:00:00Z',
        earlier: [{ loadedAt: '2026-01-05T00:00:00Z', shipments: before }],
      }),
    ];
    const asked = async (carriers: string[]) =>
      cells(
        await askReport('restatement', renewed, {
          filters: { carriers },
          parameters: { first: '2026-02-01', second: '2026-03-01' },
        }),
        'cause',
        'difference',
      );
    expect(await asked(['ups'])).toEqual([]);
    expect(await asked(['dhl'])).toEqual([['new file', '1.0000']]);
  });

  test('agrees with what each report says as known on those instants', async () => {
    const total = async (asKnownOn: string): Promise<unknown> =>
      (await askReport('carriers', invoices, { filters: { asKnownOn } })).rows[0]?.billing_cost;
    expect(await total('2026-02-01')).toBe('25.0000');
    expect(await total('2026-03-01T00:00:00+00:00')).toBe('24.0000');
    expect((await askReport('carriers', invoices, { filters: { asKnownOn: '2025-01-01' } })).rows).toEqual(
      [],
    );
  });
});

describe('an invoice in several currencies', () => {
  // Header: 30 USD. Its file has 10 and 20 in USD and 7 in EUR.
  const invoices = [
    anInvoice(
      [aShipment({ cost: '10' }), aShipment({ cost: '20' }), aShipment({ cost: '7', currency: 'EUR' })],
      { currency: 'USD', statedTotal: '30', statedShipments: 3 },
    ),
  ];

  test.each([
    ['proof', 'billing_cost'],
    ['register', 'open_amount'],
    ['payables', 'open_amount'],
  ] as const)('has a row for each in %s, which add up to the shipments', async (name, amount) => {
    expect(cells(await askReport(name, invoices), 'currency_code', amount)).toEqual([
      ['EUR', '7.0000'],
      ['USD', '30.0000'],
    ]);
    const inEuros = await askReport(name, invoices, { filters: { currencies: ['EUR'] } });
    expect(cells(inEuros, 'currency_code', amount)).toEqual([['EUR', '7.0000']]);
  });

  test('is proved with the lines of each currency, and what was stated in its own', async () => {
    const columns = [
      'currency_code',
      'shipments',
      'stated_shipments',
      'shipments_difference',
      'stated_total',
      'difference',
    ];
    expect(cells(await askReport('proof', invoices), ...columns)).toEqual([
      ['EUR', 1, null, null, null, null],
      ['USD', 2, 3, 0, '30.0000', '0.0000'],
    ]);
  });
});

describe('a voided invoice in several currencies', () => {
  test('is in proof with the lines of each, as it was while it counted', async () => {
    const result = await askReport('proof', [
      anInvoice(
        [aShipment({ cost: '10' }), aShipment({ cost: '20' }), aShipment({ cost: '7', currency: 'EUR' })],
        {
          currency: 'USD',
          statedTotal: '30',
          statedShipments: 3,
          state: 'voided',
          voidedAt: '2026-04-01T00:00:00Z',
        },
      ),
    ]);
    expect(cells(result, 'currency_code', 'shipments', 'billing_cost', 'shipments_difference')).toEqual([
      ['EUR', 1, '7.0000', null],
      ['USD', 2, '30.0000', 0],
    ]);
  });
});

describe('data-quality, currency', () => {
  test('means the currency that the header states', async () => {
    // Stated in USD; one line in AED, which comes first by the alphabet, and nothing in USD.
    const result = await askReport('data-quality', [
      anInvoice([aShipment({ currency: 'AED' }), aShipment({ currency: 'EUR' })], { currency: 'USD' }),
    ]);
    const found = result.rows.filter((row) => String(row.problem).startsWith('currency'));
    expect(found.map((row) => [row.currency_code, row.shipments])).toEqual([
      ['AED', 1],
      ['EUR', 1],
    ]);
  });
});

describe('data-quality', () => {
  test('counts what is missing or odd and shows where', async () => {
    const result = await askReport('data-quality', [
      anInvoice(
        [
          aShipment({ tracking: 'ok', shipDate: '2026-03-02' }),
          aShipment({ tracking: '7.2E+11', origin: null, zone: 'Zone 5', cost: '-1' }),
          aShipment({ tracking: 'w', weight: null, unit: null, shipDate: '2026-03-12' }),
        ],
        { number: 'Q', start: '2026-03-01', end: '2026-03-08' },
      ),
    ]);
    expect(
      Object.fromEntries(cells(result, 'problem', 'example').map(([problem, example]) => [problem, example])),
    ).toEqual({
      'origin is missing': '7.2E+11',
      'carrier zone has an unusual spelling': '7.2E+11',
      'cost is a credit': '7.2E+11',
      'tracking number went through a spreadsheet': '7.2E+11',
      'billable weight is missing': 'w',
      'shipped after it was invoiced': 'w',
      'carrier billed before it was shipped': 'w',
      'ship date is outside the billing period': 'w',
    });
    expect(cells(result, 'shipments', 'share_of_shipments')[0]).toEqual([1, '33.33']);
  });
});
