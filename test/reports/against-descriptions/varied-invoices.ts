/** Invoices in every state, from a seed: missing, voided, billed again, drafts, wrong totals, several currencies and files. */

import { createRandom } from '../../support/random.ts';
import {
  anInvoice,
  aShipment,
  type FixtureInvoice,
  type FixtureShipment,
} from '../../support/reports-fixture.ts';
import { dayOf } from './plain-arithmetic.ts';

const PARTIES = [
  { tenant: 'Acme', level: 'tenant', step: 7, first: '2026-01-05', count: 20, prefix: 'A-' },
  { tenant: 'Beta', level: 'tenant', step: 14, first: '2026-01-05', count: 10, prefix: 'S-' },
  { tenant: 'Gamma', level: null, step: 14, first: '2026-01-12', count: 10, prefix: 'S-' },
  { tenant: 'The partner', level: 'partner', step: 30, first: '2026-01-01', count: 5, prefix: 'P-' },
] as const;

export const dateOf = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10);

export function variedInvoices(seed: number): FixtureInvoice[] {
  const random = createRandom(seed);
  const below = (limit: number): number => random.between(0, limit - 1);
  const at = (day: number): string =>
    `${dateOf(day)}T${String(below(24)).padStart(2, '0')}:${String(below(60)).padStart(2, '0')}:00Z`;
  const numbers = new Map<string, number>();
  const numberOf = (prefix: string): string => {
    const next = (numbers.get(prefix) ?? 100) + 1;
    numbers.set(prefix, next);
    return `${prefix}${next}`;
  };
  const linesOf = (tenant: string, day: number): FixtureShipment[] =>
    Array.from({ length: 2 + below(5) }, () =>
      aShipment({
        tenant,
        invoiceDate: dateOf(day),
        shipDate: dateOf(day - 3 - below(40)),
        carrier: below(3) === 0 ? 'FedEx' : 'ups',
        currency: below(7) === 0 ? 'EUR' : 'USD',
        tracking: `V${below(90)}`,
        cost: `${below(6) === 0 ? '-' : ''}${1 + below(90)}.${String(below(10_000)).padStart(4, '0')}`,
      }),
    );

  function invoicesOf(party: (typeof PARTIES)[number], beat: number): FixtureInvoice[] {
    const { tenant, level, step, prefix } = party;
    const start = dayOf(party.first) + beat * step;
    const date = start + step + below(4);
    const number = numberOf(prefix);
    // The first two and the last are always there, so that there is a pattern.
    const kind = beat < 2 || beat === party.count - 1 ? 19 : below(20);
    const common = {
      ...{
        tenant,
        level,
        start: dateOf(start),
        end: dateOf(start + step - 1),
        date: dateOf(date),
        currency: 'USD',
      },
      ...{ due: dateOf(date + below(60)), createdAt: at(date - 1), loadedAt: at(date + 1) },
    };
    const lines = linesOf(tenant, date);
    const nothing = {
      ...common,
      number,
      proof: null,
      statedShipments: 3,
      statedTotal: `${100 + below(50)}.5`,
    };
    switch (kind) {
      case 0:
      case 1:
        return [];
      case 2:
        return [anInvoice(lines, { ...common, number, state: 'voided', voidedAt: at(date + 9) })];
      case 3:
      case 4: {
        const voided = anInvoice(lines, { ...common, number, state: 'voided', voidedAt: at(date + 9) });
        const again = lines.slice(below(2)).map((line) => ({ ...line, invoiceDate: dateOf(date + 5) }));
        const later = { date: dateOf(date + 5), loadedAt: at(date + 11) };
        return [
          voided,
          anInvoice([...again, ...linesOf(tenant, date + 5)], {
            ...common,
            ...later,
            number: numberOf(prefix),
          }),
        ];
      }
      case 5:
        // Twenty minutes after the hour and minute at which the tests publish: its last day is not whole.
        return [anInvoice([], { ...nothing, state: 'draft', createdAt: `${dateOf(date - 1)}T10:40:00Z` })];
      case 6:
        return [anInvoice([], { ...nothing, state: 'finalized' })];
      case 7:
        return [
          anInvoice([], {
            ...nothing,
            state: 'needs_attention',
            reasonCode: 'csv-rejected',
            reason: 'It is broken.',
          }),
        ];
      case 8:
        return [anInvoice(lines, { ...common, number, statedTotal: '77.7700' })];
      case 9:
        return [
          anInvoice(lines, { ...common, number, statedShipments: lines.length + 2, proof: 'unproved' }),
        ];
      case 10:
        return [
          anInvoice(lines, { ...common, number, differences: [['period', common.end, dateOf(start - 9)]] }),
        ];
      case 11:
        return [
          anInvoice(
            lines.map((line) => ({ ...line, currency: 'USD' })),
            {
              ...common,
              number,
              currency: 'EUR',
              statedTotal: '9.0000',
              differences: [['currency', 'EUR', 'USD']],
            },
          ),
        ];
      case 12:
      case 13:
      case 14: {
        const [first, ...others] = lines;
        const before = first === undefined ? [] : [{ ...first, cost: '5.0000' }, ...others.slice(kind - 12)];
        return [
          anInvoice(lines, {
            ...common,
            number,
            loadedAt: at(date + 20),
            earlier: [{ loadedAt: common.loadedAt, shipments: before }],
          }),
        ];
      }
      default:
        return [anInvoice(lines, { ...common, number })];
    }
  }

  // In order of time, so that those who share numbers take them in turn.
  return PARTIES.flatMap((party) => Array.from({ length: party.count }, (_, beat) => ({ party, beat })))
    .sort(
      (one, other) =>
        dayOf(one.party.first) +
        one.beat * one.party.step -
        dayOf(other.party.first) -
        other.beat * other.party.step,
    )
    .flatMap(({ party, beat }) => invoicesOf(party, beat));
}
