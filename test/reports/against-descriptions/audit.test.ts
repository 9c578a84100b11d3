import { test } from 'vitest';
import { decimalText as D, roundedQuotient } from '../../support/reports-fixture.ts';
import { denseInvoices } from './dense-invoices.ts';
import { cellOf, hasCell, isCharge, type Line, largest, oracleOver, T } from './description-oracle.ts';
import {
  costOf,
  dayOf,
  doubleMedian,
  each,
  grouped,
  percent,
  plainZone,
  ratedPounds,
} from './plain-arithmetic.ts';

/** Medians are doubled, so that they are whole; halves are rounded at the end. */
const half = (twice: bigint): string => D(roundedQuotient(twice, 2n));

const invoices = denseInvoices(7, 28).map((invoice, index) => ({
  ...invoice,
  shipments: invoice.shipments.map((line, at) =>
    at === 3 ? { ...line, weight: `${4 + (index % 7)}.5`, unit: 'LB' } : line,
  ),
}));
const { agrees } = oracleOver(invoices);

test('rate-variance', () =>
  agrees(
    'rate-variance',
    (lines) => {
      const rateOf = (line: Line): bigint | null => {
        if (line.currency !== 'USD') return null;
        const isLight = line.weight !== null && (ratedPounds(line) ?? 9) <= 1;
        if (line.carrier === 'ups' && line.service === 'Ground' && plainZone(line.zone) === '5')
          // Both lines name three things; the one with a day counts, and without one the lower rate.
          return line.shipDate >= '2026-03-01' ? 113_000n : isLight ? 81_000n : 103_000n;
        // 0.5 kg are 1.1 lb: what weighs 0.4536 kg or 1 lb is below, 1.2 lb above.
        const isBelowHalfAKilogram = line.unit === 'KG' || line.weight === '1';
        if (line.carrier === 'ups' && line.service === '2Day' && isBelowHalfAKilogram) return 120_000n;
        if (line.carrier === 'ups' && line.service === 'Ground' && isLight) return 81_000n;
        return line.carrier === 'ups' && line.service === 'Ground' ? 90_000n : 150_000n;
      };
      return grouped(lines.filter(isCharge), (line) => [line.carrier, line.service, line.currency]).map(
        ([[carrier, service, currency], group]) => {
          const covered = group.filter((line) => rateOf(line) !== null);
          const over = covered.map((line) => T(line.cost) - (rateOf(line) ?? 0n));
          const sum = (list: readonly bigint[]): bigint => list.reduce((total, one) => total + one, 0n);
          return {
            ...{ carrier, service_level: service, currency_code: currency, shipments: group.length },
            ...{ covered_shipments: covered.length, billing_cost: D(costOf(group)) },
            ...{ covered_cost: D(costOf(covered)), expected_cost: D(costOf(covered) - sum(over)) },
            ...{ variance: D(sum(over)), overcharged_shipments: over.filter((each) => each > 0n).length },
            overcharged_cost: D(sum(over.filter((each) => each > 0n))),
          };
        },
      );
    },
    {
      files: {
        rates: [
          'carrier,service_level,zone,from_weight,to_weight,currency_code,rate,valid_from,valid_to,unit',
          'UPS,ground,Zone 5,,,USD,10.3,,,',
          'ups,GROUND,5,,,usd,11.3,2026-03-01,,',
          'ups,Ground,,0,1,USD,8.1,,,',
          'ups,Ground,,,,USD,9,,,',
          ',,,,,USD,15,,,',
          ',,,,,USD,15.5,,,',
          'ups,2Day,,0,0.5,USD,12,,,KG',
          'ups,2Day,,,,USD,15,,,',
        ],
      },
    },
  ));

test('duplicates', () =>
  agrees('duplicates', (lines, loaded) =>
    grouped(
      loaded.filter((line) => T(line.cost) !== 0n),
      (line) => [line.carrier, line.tracking, line.currency],
    ).flatMap(([[carrier, tracking, currency], group]) => {
      if (group.filter(isCharge).length < 2 || !group.some((line) => lines.includes(line))) return [];
      // A credit cancels the charges of its amount that come first by id.
      const remaining = [...group].sort((a, b) =>
        a.invoiceId < b.invoiceId ? -1 : a.invoiceId > b.invoiceId ? 1 : a.row - b.row,
      );
      const charges = remaining.filter(isCharge);
      const credits: bigint[] = [];
      for (const credit of remaining.filter((line) => !isCharge(line))) {
        const at = charges.findIndex(({ cost }) => T(cost) === -T(credit.cost));
        if (at < 0) credits.push(T(credit.cost));
        else charges.splice(at, 1);
      }
      const weighs = ({ weight, unit }: Line): bigint | null =>
        weight === null || unit === null
          ? null
          : T(weight) * (unit === 'KG' ? 22_046_226_218n : 10_000_000_000n);
      const isEqual = (one: Line, other: Line): boolean =>
        T(one.cost) === T(other.cost) || (weighs(one) !== null && weighs(one) === weighs(other));
      let same: (readonly Line[])[] = [];
      for (const charge of charges) {
        const equals = same.filter((others) => others.some((other) => isEqual(charge, other)));
        same = [...same.filter((others) => !equals.includes(others)), [...equals.flat(), charge]];
      }
      const sum = (list: readonly bigint[]): bigint => list.reduce((total, one) => total + one, 0n);
      const costs = same.map((equals) => equals.map(({ cost }) => T(cost)));
      const beyond = sum(costs.map((each) => sum(each) - largest(each))) + sum(credits);
      const risk = beyond > 0n ? beyond : 0n;
      const credited = costOf(group.filter((line) => !isCharge(line)));
      const count = (of: (line: Line) => string): number => new Set(group.map(of)).size;
      const scope =
        count(({ tenant }) => tenant) > 1
          ? 'across tenants'
          : count(({ invoiceId }) => invoiceId) > 1
            ? 'across invoices'
            : 'within an invoice';
      return [
        {
          ...{ carrier, tracking_number: tracking, currency_code: currency, scope, lines: group.length },
          kind: risk > 0n ? 'same charge again' : credited < 0n ? 'credit' : 'adjustment',
          same_amount: new Set(charges.map(({ cost }) => T(cost))).size < charges.length,
          charged: D(costOf(group.filter(isCharge))),
          credited: D(credited),
          money_at_risk: D(risk),
        },
      ];
    }),
  ));

test('adjustments', () =>
  agrees('adjustments', (lines, loaded) =>
    grouped(loaded, (line) => [line.carrier, line.tracking, line.tenant, line.currency]).flatMap(
      ([[carrier, tracking, tenant, currency], group]) => {
        const inOrder = [...group].sort(
          (one, other) =>
            one.invoiceDate.localeCompare(other.invoiceDate) ||
            (one.invoiceId < other.invoiceId
              ? -1
              : one.invoiceId > other.invoiceId
                ? 1
                : one.row - other.row),
        );
        const [first, ...later] = inOrder.filter(isCharge);
        const credited = costOf(group.filter((line) => T(line.cost) < 0n));
        if (group.length < 2 && credited === 0n) return [];
        if (!group.some((line) => lines.includes(line))) return [];
        // An empty cell states nothing.
        const states = (of: (line: Line) => string | null): boolean =>
          later.some((line) => first && of(first) !== null && of(line) !== null && of(line) !== of(first));
        const changed = [
          states(({ weight, unit }) => (weight === null ? null : `${weight} ${unit}`)) ? 'weight' : '',
          states(({ zone }) => plainZone(zone)) ? 'zone' : '',
          states(({ service }) => service) ? 'service' : '',
        ].filter((part) => part !== '');
        return [
          {
            ...{ carrier, tracking_number: tracking, tenant, currency_code: currency, lines: group.length },
            first_charge: first ? D(T(first.cost)) : null,
            adjusted: D(costOf(later)),
            credited: D(credited),
            changed: changed.length === 0 ? null : changed.join(', '),
          },
        ];
      },
    ),
  ));

test('late-billed', () =>
  agrees(
    'late-billed',
    (lines, loaded) =>
      lines
        .filter((line) => dayOf(line.invoiceDate) - dayOf(line.shipDate) > 40)
        .map((line) => {
          const days = dayOf(line.invoiceDate) - dayOf(line.shipDate);
          const ofNumber = loaded.filter(
            (other) => other.carrier === line.carrier && other.tracking === line.tracking,
          );
          return {
            ...{ invoice_id: line.invoiceId, row_number: line.row, billing_cost: D(T(line.cost)) },
            ...{ days_to_invoice: days, days_late: days - 40 },
            carrier_days:
              line.carrierInvoiceDate === null ? null : dayOf(line.carrierInvoiceDate) - dayOf(line.shipDate),
            first_billed_on: ofNumber.map((other) => other.invoiceDate).sort()[0],
          };
        }),
    { parameters: { days: '40' } },
  ));

test.each([
  ['carrier', (line: Line) => line.carrier, (line: Line) => [line.service, plainZone(line.zone)]],
  ['service', (line: Line) => line.service, (line: Line) => [line.carrier, plainZone(line.zone)]],
  ['zone', (line: Line) => plainZone(line.zone), (line: Line) => [line.carrier, line.service]],
] as const)('what-if by %s', (by, sideOf, restOf) =>
  agrees(
    'what-if',
    (all) => {
      const lines = all.filter(hasCell);
      const key = (line: Line, side: unknown) =>
        JSON.stringify([side, restOf(line), ratedPounds(line), line.currency]);
      const cells = new Map(
        grouped(lines, (line) => [key(line, sideOf(line))]).map(([[cell], group]) => [cell, group]),
      );
      const within = (line: Line) => (by === 'carrier' ? null : line.carrier);
      const sides = grouped(
        all.filter((line) => isCharge(line) && sideOf(line) !== null),
        (line) => [within(line), sideOf(line), line.currency],
      );
      return sides.flatMap(([[carrier, side, currency], group]) =>
        sides
          .filter(([[c, other, cur]]) => c === carrier && other !== side && cur === currency)
          .map(([[, other]]) => {
            const covered = group.filter(
              (line) => hasCell(line) && (cells.get(key(line, other))?.length ?? 0) >= 3,
            );
            // Twice, so that medians are whole.
            const repriced = covered.reduce(
              (sum, line) =>
                sum + doubleMedian((cells.get(key(line, other)) ?? []).map(({ cost }) => T(cost))),
              0n,
            );
            const cost = costOf(covered);
            const saved = 2n * cost - repriced;
            const named = {
              carrier: { carrier: side, other_carrier: other },
              service: { carrier, service_level: side, other_service: other },
              zone: { carrier, zone: side, other_zone: other },
            }[by];
            return {
              ...{ ...named, currency_code: currency, shipments: group.length },
              ...{ covered_shipments: covered.length, covered_cost: D(cost), repriced_cost: half(repriced) },
              ...{ saving: half(saved), saving_percent: percent(saved, 2n * cost) },
              saving_per_shipment: covered.length === 0 ? null : each(saved, 2 * covered.length),
            };
          }),
      );
    },
    { parameters: { by } },
  ),
);

test('minimum-charges', () =>
  agrees(
    'minimum-charges',
    (lines, loaded, passes) => {
      const services = grouped(
        loaded.filter((line) => passes.tenant(line) && isCharge(line) && line.service !== null),
        (line) => [line.carrier, line.service, line.currency],
      );
      return services.flatMap(([[carrier, service, currency], ofService]) => {
        let before: bigint | null = null;
        return grouped(ofService, (line) => [line.shipDate.slice(0, 7)])
          .sort(([[one]], [[other]]) => (String(one) < String(other) ? -1 : 1))
          .flatMap(([[month], group]) => {
            const cells = grouped(group.filter(hasCell), cellOf)
              .filter(([, cell]) => cell.length >= 2)
              .map(([key, cell]) => ({
                lb: Number(key[3]),
                price: doubleMedian(cell.map(({ cost }) => T(cost))),
              }));
            const least = cells.map(({ price }) => price).reduce((a, b) => (b < a ? b : a), 2n * 10n ** 18n);
            const alike = cells.filter(({ price }) => price === least);
            if (alike.length < 2) return [];
            const examined = group.filter((line) => lines.includes(line));
            const atFloor = examined.filter(({ cost }) => 2n * T(cost) === least);
            const change = before === null ? null : least - before;
            const changePercent = before === null ? null : percent(least - before, before);
            before = least;
            if (examined.length === 0) return [];
            return [
              {
                ...{ month, carrier, service_level: service, currency_code: currency },
                ...{ minimum_charge: half(least), priced_alike: alike.length, shipments: examined.length },
                ...{ up_to_lb: Math.max(...alike.map(({ lb }) => lb)), floor_shipments: atFloor.length },
                floor_cost: D(costOf(atFloor)),
                share_of_shipments: percent(BigInt(atFloor.length), BigInt(examined.length)),
                change: change === null ? null : half(change),
                change_percent: changePercent,
              },
            ];
          });
      });
    },
    { parameters: { min_shipments: '2', min_cells: '2' } },
  ));

test('dimensional-weight', () =>
  agrees(
    'dimensional-weight',
    (examined, loaded) => {
      const lines = loaded.filter((line) => isCharge(line) && line.service !== null && line.weight !== null);
      const placeOf = (origin: string | null) => origin?.trim().replace(/\s+/g, ' ').toUpperCase();
      const places = grouped(
        lines.filter(({ origin }) => origin !== null),
        (line) => [line.tenant, line.carrier, line.service, placeOf(line.origin)],
      );
      return places.flatMap(([[, carrier, service, place], group]) => {
        const pounds = group.map((line) => ratedPounds(line) ?? 0).sort((one, other) => one - other);
        const usual = pounds[Math.ceil((pounds.length * 9) / 10) - 1] ?? 0;
        if (group.length < 3) return [];
        return group
          .filter((line) => examined.includes(line))
          .filter((line) => 2 * (ratedPounds(line) ?? 0) >= 3 * usual && (ratedPounds(line) ?? 0) > usual)
          .map((line) => {
            const alike = lines.filter(
              (other) =>
                [carrier, service, line.currency].join() ===
                  [other.carrier, other.service, other.currency].join() &&
                line.zone !== null &&
                plainZone(other.zone) === plainZone(line.zone) &&
                other.shipDate.slice(0, 7) === line.shipDate.slice(0, 7) &&
                ratedPounds(other) === usual,
            );
            const price = alike.length === 0 ? null : doubleMedian(alike.map(({ cost }) => T(cost)));
            return {
              ...{ invoice_id: line.invoiceId, row_number: line.row, origin: place, usual_lb: usual },
              ...{ billed_lb: ratedPounds(line), like_shipments: group.length },
              usual_cost: price === null ? null : half(price),
              difference: price === null ? null : half(2n * T(line.cost) - price),
            };
          });
      });
    },
    { parameters: { min_shipments: '3', times: '1.5', min_lb: '1' } },
  ));
