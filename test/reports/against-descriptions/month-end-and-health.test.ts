import { test } from 'vitest';
import { decimalText as D } from '../../support/reports-fixture.ts';
import { denseInvoices } from './dense-invoices.ts';
import { type Line, oracleOver, T } from './description-oracle.ts';
import { costOf, grouped, packagesOf, percent, plainZone } from './plain-arithmetic.ts';

const invoices = denseInvoices(7, 28);
const { agrees } = oracleOver(invoices);

test('carrier-statements', () =>
  agrees(
    'carrier-statements',
    (lines) => [
      ...grouped(lines, (line) => [line.carrier, line.carrierInvoiceDate, line.currency]).map(
        ([[carrier, date, currency], group]) => {
          const stated = carrier === 'ups' && date === '2026-03-14' && currency === 'USD' ? 1_000_000n : null;
          return {
            ...{ carrier, carrier_invoice_date: date, currency_code: currency, shipments: group.length },
            ...{ packages: packagesOf(group), billing_cost: D(costOf(group)) },
            credits: D(costOf(group.filter((line) => T(line.cost) < 0n))),
            stated_amount: stated === null ? null : D(stated),
            difference: stated === null ? null : D(costOf(group) - stated),
            state: stated === null ? 'not stated' : 'differs',
          };
        },
      ),
      {
        ...{ carrier: 'ups', carrier_invoice_date: '2026-03-15', currency_code: 'USD', shipments: 0 },
        ...{ packages: 0, billing_cost: '0.0000', credits: '0.0000', stated_amount: '5.0000' },
        ...{ difference: '-5.0000', state: 'not billed' },
      },
    ],
    {
      files: {
        statements: [
          'carrier,carrier_invoice_date,currency_code,amount',
          'UPS,2026-03-14,USD,60',
          'Ups,2026-03-14,usd,40',
          'ups,2026-03-15,USD,5',
        ],
      },
    },
  ));

test('levels', () =>
  agrees(
    'levels',
    (lines) => {
      const numbers = grouped(lines, (line) => [line.carrier, line.tracking, line.currency]).map(
        ([[carrier, , currency], group]) => ({
          ...{ carrier, currency, month: group.map(({ shipDate }) => shipDate.slice(0, 7)).sort()[0] },
          tenant: group.filter(({ level }) => level !== 'partner'),
          partner: group.filter(({ level }) => level === 'partner'),
        }),
      );
      return grouped(numbers, ({ month, carrier, currency }) => [month, carrier, currency]).map(
        ([[month, carrier, currency], group]) => {
          const sum = (of: (number: (typeof numbers)[number]) => readonly Line[]): bigint =>
            group.reduce((total, number) => total + costOf(of(number)), 0n);
          const [tenant, partner] = [sum((number) => number.tenant), sum((number) => number.partner)];
          return {
            ...{ month, carrier, currency_code: currency },
            ...{
              tenant_level_cost: D(tenant),
              partner_level_cost: D(partner),
              difference: D(partner - tenant),
            },
            only_at_tenant_level: group.filter((number) => number.partner.length === 0).length,
            only_at_partner_level: group.filter((number) => number.tenant.length === 0).length,
            cost_differs: group.filter(
              (number) =>
                number.tenant.length > 0 &&
                number.partner.length > 0 &&
                costOf(number.tenant) !== costOf(number.partner),
            ).length,
          };
        },
      );
    },
    { isOfAllLevels: true },
  ));

test('data-quality', () =>
  agrees('data-quality', (lines) => {
    const origins = new Set(lines.map(({ origin }) => origin));
    const isLater = (date: string | null, than: string): boolean => date !== null && date > than;
    const checks: Readonly<Record<string, (line: Line) => boolean>> = {
      'origin is missing': ({ origin }) => origin === null,
      'billable weight is missing': ({ weight }) => weight === null,
      'carrier zone is missing': ({ zone }) => zone === null,
      'carrier zone has an unusual spelling': ({ zone }) => zone !== plainZone(zone),
      'carrier invoice date is missing': ({ carrierInvoiceDate }) => carrierInvoiceDate === null,
      'service level is missing': ({ service }) => service === null,
      'cost is zero': ({ cost }) => T(cost) === 0n,
      'cost is a credit': ({ cost }) => T(cost) < 0n,
      'carrier billed before it was shipped': ({ carrierInvoiceDate, shipDate }) =>
        carrierInvoiceDate !== null && isLater(shipDate, carrierInvoiceDate),
      'ship date is outside the billing period': ({ shipDate }) => Number(shipDate.slice(8)) > 20,
      "currency differs from the invoice's header": ({ currency, invoiceId }) =>
        invoices.find(({ id }) => id === invoiceId)?.currency !== currency,
      'origin has lost its leading zero': ({ origin }) => origin === '2139' && origins.has('02139'),
      'origin has an unusual spelling': ({ origin }) => origin === ' 94107' || origin === 'k1a  0b1',
    };
    return grouped(lines, ({ currency }) => [currency]).flatMap(([[currency], group]) =>
      Object.entries(checks).flatMap(([problem, isFound]) => {
        const found = group
          .filter(isFound)
          .sort((one, other) =>
            one.invoiceId < other.invoiceId ? -1 : one.invoiceId > other.invoiceId ? 1 : one.row - other.row,
          );
        if (found.length === 0) return [];
        return [
          {
            ...{ problem, currency_code: currency, shipments: found.length, example: found[0]?.tracking },
            share_of_shipments: percent(BigInt(found.length), BigInt(group.length)),
            invoices: new Set(found.map(({ invoiceId }) => invoiceId)).size,
            billing_cost: D(costOf(found)),
          },
        ];
      }),
    );
  }));
