import { describe, expect, test } from 'vitest';
import { anInvoice, aShipment, cells, runReportOn } from '../support/reports-fixture.ts';

describe('proof, by gravity', () => {
  test('lists a wrong total first and does not call late dates a contradiction', async () => {
    const result = await runReportOn('proof', [
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
    const two = await runReportOn('proof', [
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
      'Contradicted by their own header or event: 3 invoices; the report proof shows how.',
    );
  });
});

describe('levels', () => {
  test('adds the lines of a number per level and counts it once, in its first month', async () => {
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
    const result = await runReportOn('levels', [anInvoice(tenant), anInvoice(partner, { level: 'partner' })]);
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

  test('does not take one shared number of many for a replacement', async () => {
    // 20 numbers at 2 each; the other invoice has one of them, 5 % of the numbers.
    const lines = Array.from({ length: 20 }, (_, index) => aShipment({ tracking: `N${index}`, cost: '2' }));
    const result = await runReportOn('rebills', [
      anInvoice(lines, { number: 'V', ...voided }),
      anInvoice([aShipment({ tracking: 'N7', cost: '3' })], { number: 'adjusts' }),
    ]);
    expect(cells(result, 'outcome', 'missing_numbers', 'missing_cost')).toEqual([
      ['not billed again', 20, '40.0000'],
    ]);
  });

  test('does not take an earlier invoice for a replacement', async () => {
    const result = await runReportOn('rebills', [
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

  test('stops at the requested instant', async () => {
    const result = await runReportOn('restatement', invoices, {
      filters: { asKnownOn: '2026-02-12T00:00:00Z' },
      parameters: { first: '2026-02-01' },
    });
    expect(cells(result, 'invoice_number', 'cause')).toEqual([
      ['gone', 'voided'],
      ['late', 'loaded'],
    ]);
  });

  test('does not call a currency that a new file no longer bills a void', async () => {
    const [usd, eur] = ['USD', 'EUR'].map((currency) => aShipment({ cost: '10', currency }));
    if (usd === undefined || eur === undefined) throw new Error('two lines');
    const earlier = [{ loadedAt: '2026-01-05T00:00:00Z', shipments: [usd, eur] }];
    const result = await runReportOn(
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
        await runReportOn('restatement', renewed, {
          filters: { carriers },
          parameters: { first: '2026-02-01', second: '2026-03-01' },
        }),
        'cause',
        'difference',
      );
    expect(await asked(['ups'])).toEqual([]);
    expect(await asked(['dhl'])).toEqual([['new file', '1.0000']]);
  });

  test('agrees with each report as known on those instants', async () => {
    const total = async (asKnownOn: string): Promise<unknown> =>
      (await runReportOn('carriers', invoices, { filters: { asKnownOn } })).rows[0]?.billing_cost;
    expect(await total('2026-02-01')).toBe('25.0000');
    expect(await total('2026-03-01T00:00:00+00:00')).toBe('24.0000');
    expect((await runReportOn('carriers', invoices, { filters: { asKnownOn: '2025-01-01' } })).rows).toEqual(
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
  ] as const)('has a row for each currency in %s, which add up to the shipments', async (name, amount) => {
    expect(cells(await runReportOn(name, invoices), 'currency_code', amount)).toEqual([
      ['EUR', '7.0000'],
      ['USD', '30.0000'],
    ]);
    const inEuros = await runReportOn(name, invoices, { filters: { currencies: ['EUR'] } });
    expect(cells(inEuros, 'currency_code', amount)).toEqual([['EUR', '7.0000']]);
  });
});

describe('data-quality, currency', () => {
  test('uses the currency that the header states', async () => {
    // Stated in USD; one line in AED, which comes first by the alphabet, and nothing in USD.
    const result = await runReportOn('data-quality', [
      anInvoice([aShipment({ currency: 'AED' }), aShipment({ currency: 'EUR' })], { currency: 'USD' }),
    ]);
    const found = result.rows.filter((row) => String(row.problem).startsWith('currency'));
    expect(found.map((row) => [row.currency_code, row.shipments])).toEqual([
      ['AED', 1],
      ['EUR', 1],
    ]);
  });
});
