import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type MadeStatement,
  makeStatements,
  type StatementsRequest,
} from '../../../finance/statements/make-statements.ts';
import { renderStatement } from '../../../finance/statements/render-statement.ts';
import { shortKey } from '../../../finance/statements/sent-statements.ts';
import type { Statement } from '../../../finance/statements/statement.ts';
import { headOf } from '../../../finance/statements/statement-tables.ts';
import { sumOfAmounts } from '../../../lib/decimal.ts';
import { runReport } from '../../../reports/report-session.ts';
import { testFolder } from '../../support/folders.ts';
import {
  anInvoice,
  aShipment,
  type FixtureInvoice,
  type ReportsFixture,
  reportsFixture,
} from '../../support/reports-fixture.ts';
import { seededInvoices } from '../../support/seeded-invoices.ts';

const NOW = new Date('2027-02-02T08:00:00Z');
const open: ReportsFixture[] = [];
let folder: string;
beforeEach(async () => {
  folder = testFolder();
});
afterAll(async () => {
  for (const fixture of open) await fixture.remove();
});

async function published(invoices: readonly FixtureInvoice[]): Promise<string> {
  const fixture = await reportsFixture(invoices);
  open.push(fixture);
  return fixture.path;
}

async function statements(
  databasePath: string,
  wanted: Partial<StatementsRequest> & Pick<StatementsRequest, 'period'>,
): Promise<MadeStatement[]> {
  const made: MadeStatement[] = [];
  await makeStatements(
    { databasePath, dataDir: folder, timeLimitMs: 60_000, now: NOW },
    { tenants: [], partners: [], isFinal: false, withShipments: true, ...wanted },
    async (each) => void made.push(each),
  );
  return made;
}

async function statement(
  databasePath: string,
  period: string,
  more: Partial<StatementsRequest> = {},
): Promise<Statement> {
  const [one, ...others] = await statements(databasePath, { period, tenants: ['Acme'], ...more });
  expect(others).toEqual([]);
  if (one === undefined) throw new Error('no statement');
  return one.statement;
}

const line = (tracking: string, cost: string, invoiceDate: string, more: object = {}) =>
  aShipment({ tracking, cost, invoiceDate, shipDate: invoiceDate, ...more });
const month = (number: string, period: string, costs: readonly string[], more: object = {}): FixtureInvoice =>
  anInvoice(
    costs.map((cost, index) => line(`${number}-${index}`, cost, `${period}-10`)),
    { number, start: `${period}-01`, end: `${period}-10`, date: `${period}-10`, tenant: 'Acme', ...more },
  );
const voided = (invoice: FixtureInvoice): FixtureInvoice => ({
  ...invoice,
  state: 'voided',
  voidedAt: '2026-11-20T10:00:00Z',
});

describe('the statements of all tenants', () => {
  const invoices = seededInvoices(7, 60);
  let path: string;
  beforeAll(async () => {
    path = await published(invoices);
  });

  test('have the mark-up that the report margin has, also of a number that two tenants were billed for', async () => {
    const costs = join(folder, 'costs.csv');
    const numbers = ['T7-0-0', 'T7-1-1', 'T7-2-2', 'T7-3-0', 'T7-4-1', 'T7-0-2'];
    const carriers = ['ups', 'fedex', 'dhl express'];
    const rows = numbers.flatMap((number) =>
      carriers.flatMap((carrier) => [`${carrier},${number},USD,3.3333`, `${carrier},${number},EUR,2.0001`]),
    );
    await writeFile(costs, ['carrier,tracking_number,currency_code,cost', ...rows].join('\n'));
    let covered = 0;
    for (const period of ['2026-03', '2026-04']) {
      const made = await statements(path, { period, costs });
      const margin = await runReport({
        ...{ databasePath: path, name: 'margin', tables: { costs } },
        filters: { period, level: 'tenant' },
      });
      const found = made.flatMap(({ statement: { tenant, mark_up } }) =>
        (mark_up ?? []).map((each) => ({ tenant, ...each, partner_id: 'partner-1' })),
      );
      const sorted = (all: readonly object[]): string[] =>
        all.map((each) => JSON.stringify(Object.entries(each).sort())).sort();
      expect(sorted(found)).toEqual(sorted(margin.rows));
      covered += found.reduce((count, each) => count + each.covered_numbers, 0);
    }
    expect(covered).toBeGreaterThan(0);
  });
});

describe('a line of a statement', () => {
  test('is a charge, a credit or billed again, and never two of them', async () => {
    const path = await published([
      voided(
        anInvoice([line('A', '10', '2026-09-10'), line('B', '20', '2026-09-10')], {
          ...{ number: 'V', tenant: 'Acme', date: '2026-09-10' },
        }),
      ),
      anInvoice(
        [
          ...[line('A', '11.0001', '2026-10-10'), line('A', '-1', '2026-10-10')],
          ...[line('C', '5', '2026-10-10'), line('B', '7', '2026-10-10', { currency: 'EUR' })],
        ],
        { number: 'R', tenant: 'Acme', date: '2026-10-10' },
      ),
    ]);
    const { billed, totals } = await statement(path, '2026-10');
    expect(billed.map((each) => [each.kind, each.currency_code, each.lines, each.amount])).toEqual([
      // B was void in dollars, so in euros it is billed for the first time.
      ['charge', 'EUR', 1, '7.0000'],
      ['charge', 'USD', 1, '5.0000'],
      ['billed again', 'USD', 1, '11.0001'],
      ['credit', 'USD', 1, '-1.0000'],
    ]);
    expect(totals.map(({ currency_code, total }) => [currency_code, total])).toEqual([
      ['EUR', '7.0000'],
      ['USD', '15.0001'],
    ]);
  });

  test('belongs to the tenant with that id: two of one name have a statement each', async () => {
    const path = await published([
      month('1', '2026-10', ['10'], { tenantId: 'id-one' }),
      month('2', '2026-10', ['20'], { tenantId: 'id-two' }),
    ]);
    await expect(statement(path, '2026-10')).rejects.toThrow(
      '"Acme" is 2 tenants: Acme (id-one) of partner-1, Acme (id-two) of partner-1',
    );
    const two = await statement(path, '2026-10', { tenants: ['id-two'] });
    expect([two.tenant_id, two.totals[0]?.total]).toEqual(['id-two', '20.0000']);
    const all = await statements(path, { period: '2026-10' });
    const names = await Promise.all(all.map(async (made) => (await renderStatement(made, 'csv'))[0]?.name));
    expect(new Set(names).size).toBe(2);
    for (const [tenant, slug] of [
      ['北海道マーケット', '北海道マーケット'],
      ['Öl & Söhne', 'ol-sohne'],
      ['דואר', 'דואר'],
    ] as const) {
      const [made] = all.map((each) => ({ ...each, statement: { ...each.statement, tenant } }));
      if (made !== undefined) expect((await renderStatement(made, 'csv'))[0]?.name).toContain(`-${slug}-`);
    }
  });
});

describe('a partner or id that becomes known after a statement was sent', () => {
  test.each([
    ['the partner', { partnerId: null }],
    ['the id', { tenantId: null }],
    ['partner and id', { partnerId: null, tenantId: null }],
  ])('bills nothing again: %s', async (_what, unknown) => {
    const sent = async (invoices: readonly FixtureInvoice[], period: string) => {
      const made = await statements(await published(invoices), { period, isFinal: true });
      return made.map((each) => each.statement.totals[0]?.total);
    };
    const imported = [month('1', '2026-09', ['70'], unknown)];
    expect(await sent(imported, '2026-09')).toEqual(['70.0000']);
    const announced = [month('1', '2026-09', ['70'], { id: imported[0]?.id }), month('2', '2026-10', ['30'])];
    expect(await sent(announced, '2026-10')).toEqual(['30.0000']);
    expect(await sent(announced, '2026-09')).toEqual(['70.0000']);
  });

  test('is awaited while several partners are known', async () => {
    const path = await published([
      ...['p-1', 'p-2'].map((partnerId) =>
        month(partnerId, '2026-10', ['1'], { partnerId, tenantId: partnerId }),
      ),
      month('3', '2026-10', ['70'], { partnerId: null, tenantId: 'p-1' }),
    ]);
    const sending = statements(path, { period: '2026-10', isFinal: true });
    await expect(sending).rejects.toThrow('The partner of invoices of Acme (p-1) is not known');
  });
});

describe('a statement', () => {
  test('names invoices of the month that no total has, and what proved the others', async () => {
    const path = await published([
      month('1', '2026-10', ['10']),
      month('2', '2026-10', ['5'], { proof: 'unproved' }),
      voided(month('3', '2026-10', ['20'])),
      anInvoice([], {
        number: '4',
        tenant: 'Acme',
        start: '2026-10-12',
        end: '2026-10-18',
        date: '2026-10-20',
        state: 'finalized',
        proof: null,
        statedTotal: '7.5',
      }),
    ]);
    const { invoices, left_out: leftOut } = await statement(path, '2026-10');
    expect(invoices.map((each) => [each.invoice_number, each.proved_by])).toEqual([
      ['1', 'the SHA-256 that the billing service named'],
      ['2', 'nothing: neither its SHA-256 nor its count and sum were announced'],
    ]);
    expect(invoices[0]?.file_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(leftOut.map((each) => [each.invoice_number, each.state, each.stated_total])).toEqual([
      ['3', 'voided on 2026-11-20', expect.any(String)],
      ['4', 'being checked', '7.5'],
    ]);
  });

  test('is not sent while known invoices of the month do not count, unless a person accepts that', async () => {
    const reason = 'it comes next week';
    const absent = (number: string, tenant: string, more: Partial<FixtureInvoice>) =>
      anInvoice([], {
        ...{ number, tenant, proof: null, start: '2026-10-01', end: '2026-10-07', date: '2026-10-08' },
        ...{ reason: '127.0.0.1:40351 cannot be reached (ECONNREFUSED)', ...more },
      });
    const path = await published([
      month('1', '2026-10', ['10']),
      absent('A', 'Acme', { state: 'draft' }),
      month('2', '2026-10', ['20'], { tenant: 'Beta' }),
      absent('B', 'Gamma', { state: 'needs_attention' }),
      absent('C', '', { state: 'finalized', tenantId: null }),
    ]);
    const sent: MadeStatement[] = [];
    const send = (wanted: Partial<StatementsRequest>) =>
      makeStatements(
        { databasePath: path, dataDir: folder, timeLimitMs: 60_000, now: NOW },
        { tenants: [], partners: [], isFinal: true, withShipments: false, period: '2026-10', ...wanted },
        async (each) => void sent.push(each),
      );
    await expect(send({ period: '2027-02' })).rejects.toThrow('2027-02 is not over');
    const failing = send({});
    await expect(failing).rejects.toMatchObject({ code: 'statements-failed', exitCode: 1 });
    await expect(failing).rejects.toThrow(
      /Acme \(.*A: not approved yet.*gamma \(.*B: being checked.*unknown tenant/,
    );
    expect(sent.map(({ statement: one }) => [one.tenant_id, one.totals[0]?.total])).toEqual([
      ['tenant-Beta', '20.0000'],
    ]);
    await send({ acceptIncomplete: reason });
    const acme = sent.slice(1).find((made) => made.statement.tenant_id === 'tenant-Acme');
    if (acme === undefined) throw new Error('no statement of Acme');
    for (const format of ['csv', 'pdf', 'xlsx'] as const)
      expect((await renderStatement(acme, format))[0]?.body.length).toBeGreaterThan(0);
    const [file] = await renderStatement(acme, 'csv');
    expect(String(file?.body)).toContain(reason);
    expect(String(file?.body)).not.toContain('127.0.0.1');
  });

  test('that was wrong is replaced by a numbered one that names both, and corrections do not count twice', async () => {
    const first = month('O', '2026-10', ['70']);
    const acme = { tenants: ['Acme'], isFinal: true };
    const send = async (invoices: readonly FixtureInvoice[], period: string, more: object = {}) =>
      (await statement(await published(invoices), period, { ...acme, ...more })) as Statement;
    expect(await send([first], '2026-10')).toMatchObject({ number: 1, replaces: null });
    const late = month('L', '2026-10', ['30']);
    const november = month('N', '2026-11', ['5']);
    expect((await send([first, late, november], '2026-11')).totals[0]?.total).toBe('35.0000');
    const replaced = await send([first, late, november], '2026-10', {
      replaceSent: 'the invoice L was missing',
    });
    expect(replaced).toMatchObject({
      number: 3,
      replaces: { number: 1, reason: 'the invoice L was missing' },
    });
    // 70 and 30, less the 30 that November added.
    expect(replaced.totals[0]).toMatchObject({
      billed: '100.0000',
      corrections: '-30.0000',
      total: '70.0000',
    });
    expect(await send([first, late, november], '2026-10')).toEqual(replaced);
    expect((await send([first, late, november], '2026-12')).totals).toEqual([]);
    const nothing = send([first, late, november], '2027-01', { replaceSent: 'x' });
    await expect(nothing).rejects.toThrow('No statement of 2027-01 was sent to Acme');
  });

  test.each([
    [{ tenants: ['Acne'], period: '2026-10' }, 'No tenant is "Acne"; the nearest is Acme'],
    [{ period: '2026-13' }, '"2026-13" is not a period'],
    [{ period: 'october' }, '"october" is not a period'],
    [{ period: '2026-10', costs: '/nonexistent/costs.csv' }, 'cannot be read as costs'],
  ])('is refused for an invalid request: %j', async (request, message) => {
    const path = await published([month('1', '2026-10', ['10'])]);
    await expect(statements(path, request)).rejects.toThrow(message);
  });
});

describe('a sent statement', () => {
  const october = month('O', '2026-10', ['100', '23.4567']);
  const other = month('P', '2026-10', ['1']);
  const november = month('N', '2026-11', ['50']);
  const final = { isFinal: true };

  test('is returned unchanged, whatever is published since', async () => {
    const before = await published([october, other]);
    const [sent] = await statements(before, { period: '2026-10', ...final });
    const [again] = await statements(await published([voided(october), other]), {
      period: '2026-10',
      ...final,
    });
    expect([sent?.state, again?.state]).toEqual(['sent now', 'sent before']);
    expect(again?.statement).toEqual(sent?.statement);
    if (sent === undefined || again === undefined) throw new Error('no statement');
    for (const format of ['csv', 'xlsx'] as const)
      expect((await renderStatement(again, format)).map(({ name }) => name)).toEqual(
        (await renderStatement(sent, format)).map(({ name }) => name),
      );
    expect(await renderStatement(again, 'csv')).toEqual(await renderStatement(sent, 'csv'));
  });

  test('is corrected by the next statement when an invoice was voided since, once', async () => {
    await statement(await published([october, other]), '2026-10', final);
    const after = await published([voided(october), other, november]);
    const next = await statement(after, '2026-11', final);
    expect(next.corrections).toMatchObject([
      {
        ...{ period: '2026-10', invoice_number: 'O', previous: '123.4567', current: '0.0000' },
        ...{ difference: '-123.4567', reason: 'voided on 2026-11-20' },
      },
    ]);
    expect(next.totals).toMatchObject([{ billed: '50.0000', corrections: '-123.4567', total: '-73.4567' }]);
    const december = await statement(after, '2026-12', final);
    expect(december.corrections).toEqual([]);
  });

  test('is corrected by what came late, by another file, and by a void that was undone', async () => {
    const late = month('L', '2026-10', ['7']);
    const changed: FixtureInvoice = {
      ...other,
      ...{ shipments: [line('P-0', '0.9999', '2026-10-10')], loadedAt: '2026-11-21T00:00:00Z' },
      earlier: [{ loadedAt: other.loadedAt, shipments: other.shipments }],
    };
    await statement(await published([october, other]), '2026-10', final);
    const next = await statement(await published([voided(october), changed, late]), '2026-11', final);
    expect(next.corrections.map((each) => [each.invoice_number, each.difference, each.reason])).toEqual([
      ['L', '7.0000', 'came late: loaded on 2026-03-10'],
      ['O', '-123.4567', 'voided on 2026-11-20'],
      ['P', '-0.0001', 'another file counts since 2026-11-21'],
    ]);
    const restored = await statement(await published([october, changed, late]), '2026-12', final);
    expect(restored.corrections.map((each) => [each.invoice_number, each.previous, each.difference])).toEqual(
      [['O', '0.0000', '123.4567']],
    );
  });

  test('by ship date makes up for what is billed in a later month, and by another date is refused', async () => {
    const straddling = anInvoice(
      [
        line('S-1', '10', '2026-11-03', { shipDate: '2026-10-30' }),
        line('S-2', '5', '2026-11-03', { shipDate: '2026-11-01' }),
      ],
      { number: 'S', tenant: 'Acme', start: '2026-10-28', end: '2026-11-03', date: '2026-11-03' },
    );
    const path = await published([october, straddling]);
    const early = await statement(await published([october]), '2026-10', final);
    const next = await statement(path, '2026-11', final);
    const report = await runReport({
      ...{ databasePath: path, name: 'tenants' },
      filters: { from: '2026-11-01', to: '2026-11-30' },
    });
    expect(next).toMatchObject({
      ...{ by: 'ship-date', totals: [{ billed: '5.0000', corrections: '10.0000', total: '15.0000' }] },
      corrections: [{ period: '2026-10', invoice_number: 'S', difference: '10.0000' }],
    });
    expect(report.rows).toMatchObject([{ billing_cost: '5.0000' }]);
    expect(sumOfAmounts([...early.totals, ...next.totals].map(({ total }) => total))).toBe('138.4567');
    const [made] = await statements(path, { period: '2026-11', tenants: ['Acme'] });
    if (made === undefined) throw new Error('no statement');
    expect((await renderStatement(made, 'csv'))[0]?.body).toContain('2026-11,ship-date');
    expect(headOf(next)).toContainEqual(['Period', '2026-11, by ship date']);
    await expect(statement(path, '2026-12', { by: 'invoice-date' })).rejects.toThrow('by ship date since');
  });

  test('is not what was drafted', async () => {
    await statement(await published([october, other]), '2026-10');
    const next = await statement(await published([voided(october), november]), '2026-11');
    expect(next.corrections).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  test('to all tenants is what a tenant that comes later is made up for', async () => {
    await statements(await published([october]), { period: '2026-10', ...final });
    const fresh = month('F', '2026-10', ['9'], { tenant: 'Fresh', tenantId: 'id-fresh' });
    const [next] = await statements(await published([october, fresh]), {
      ...{ period: '2026-11', tenants: ['id-fresh'] },
      ...final,
    });
    expect(next?.statement.corrections).toMatchObject([{ invoice_number: 'F', difference: '9.0000' }]);
  });

  test('by two at once corrects only once', async () => {
    await statement(await published([october, other]), '2026-10', final);
    const path = await published([voided(october), other]);
    const both = await Promise.all(['2026-11', '2026-12'].map((period) => statement(path, period, final)));
    const corrected = both.flatMap(({ corrections }) => corrections.map(({ difference }) => difference));
    expect(corrected).toEqual(['-123.4567']);
  });

  test('blocks the next one when it cannot be read', async () => {
    const path = await published([october]);
    const sent = await statement(path, '2026-10', final);
    const file = join(folder, 'user', 'sent-statements', shortKey(sent), '0001.json');
    await writeFile(file, (await readFile(file, 'utf8')).slice(0, 50));
    await expect(statement(path, '2026-11')).rejects.toThrow('cannot be read');
    expect(await readdir(dirname(file))).not.toContain('0002.json');
  });
});
