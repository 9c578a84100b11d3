import { test } from 'vitest';
import { decimalText as D, roundedQuotient } from '../../support/reports-fixture.ts';
import { denseInvoices } from './dense-invoices.ts';
import { hasCell, type Line, oracleOver, type Plain, T } from './description-oracle.ts';
import {
  costOf,
  dayOf,
  each,
  grouped,
  hundredthsText,
  packagesOf,
  percent,
  plainZone,
  ratedPounds,
} from './plain-arithmetic.ts';

const invoices = denseInvoices(7, 28);
const { agrees } = oracleOver(invoices);

test('rolling-spend', () =>
  agrees(
    'rolling-spend',
    (lines, loaded, { butFrom }) =>
      grouped(loaded.filter(butFrom), (line) => [line.carrier, line.currency]).flatMap(([key, group]) => {
        const [carrier, currency] = key;
        const monday = (line: Line): number => dayOf(line.shipDate) - ((dayOf(line.shipDate) + 3) % 7);
        const weeks = group.map(monday);
        const first = Math.min(...weeks);
        const sum = (from: number, to: number): bigint =>
          costOf(group.filter((_, at) => (weeks[at] ?? 0) >= from && (weeks[at] ?? 0) <= to));
        // Rows begin with the week of the first line that passes the date filter.
        const firstWeek = Math.min(...lines.map(monday));
        const found: Plain[] = [];
        for (let week = first; week <= Math.max(...weeks); week += 7) {
          if (week < firstWeek) continue;
          const rolling = sum(week - 21, week);
          const inWeek = group.filter((line) => lines.includes(line) && monday(line) === week);
          found.push({
            ...{ carrier, currency_code: currency },
            starts_on: new Date(week * 86_400_000).toISOString().slice(0, 10),
            billing_cost: D(costOf(inWeek)),
            rolling_cost: D(rolling),
            change_on_week: week === first ? null : D(rolling - sum(week - 28, week - 7)),
            is_full: (week - first) / 7 + 1 >= 4,
          });
        }
        return found;
      }),
    { parameters: { weeks: '4' } },
  ));

test('services', () =>
  agrees('services', (lines) =>
    grouped(lines, (line) => [line.carrier, line.service, line.currency]).map(
      ([[carrier, service, currency], group]) => {
        const isGround = (of: string | null): boolean => (of ?? '').split(' ').includes('Ground');
        const ofCarrier = lines.filter((line) => line.carrier === carrier && line.currency === currency);
        const ground = ofCarrier.filter((line) => isGround(line.service));
        const [n, groundPackages] = [BigInt(packagesOf(group)), BigInt(packagesOf(ground))];
        const excess = costOf(group) * groundPackages - costOf(ground) * n;
        const isOther = !isGround(service as string | null);
        const credits = group.filter((line) => T(line.cost) < 0n);
        const like = (line: Line) => JSON.stringify([plainZone(line.zone), ratedPounds(line)]);
        const groundCells = new Map(
          grouped(ground.filter(hasCell), (line) => [like(line)]).map(([[key], cell]) => [key, cell]),
        );
        const compared = isOther ? group.filter((line) => hasCell(line) && groundCells.has(like(line))) : [];
        // In 10^-12 of a unit; each line less its ground cell's mean.
        const premium = compared.reduce((sum, line) => {
          const cell = groundCells.get(like(line)) ?? [];
          return sum + T(line.cost) * 10n ** 20n - (costOf(cell) * 10n ** 20n) / BigInt(cell.length);
        }, 0n);
        return {
          ...{ carrier, service_level: service, currency_code: currency, is_ground: !isOther },
          ...{ shipments: group.length, packages: packagesOf(group), billing_cost: D(costOf(group)) },
          share_of_shipments: percent(BigInt(group.length), BigInt(ofCarrier.length)),
          cost_per_shipment: each(costOf(group), packagesOf(group)),
          ground_cost_per_shipment: ground.length === 0 ? null : each(costOf(ground), packagesOf(ground)),
          premium_per_shipment:
            isOther && groundPackages > 0n ? D(roundedQuotient(excess, n * groundPackages)) : null,
          premium_percent:
            isOther && costOf(ground) > 0n
              ? hundredthsText(roundedQuotient(excess * 10_000n, costOf(ground) * n))
              : null,
          like_for_like_shipments: compared.length === 0 ? null : compared.length,
          premium_like_for_like: compared.length === 0 ? null : D(roundedQuotient(premium, 10n ** 20n)),
          ...{ credits: D(costOf(credits)), credit_lines: credits.length },
          credited_percent: percent(-costOf(credits), costOf(group) - costOf(credits)),
          credit_lines_percent: percent(BigInt(credits.length), BigInt(group.length)),
        };
      },
    ),
  ));

test('margin', () =>
  agrees(
    'margin',
    (lines) => {
      const bearers = (carrier: unknown, tracking: string, currency: unknown) =>
        grouped(
          lines.filter(
            (line) => line.carrier === carrier && line.tracking === tracking && line.currency === currency,
          ),
          (line) => [line.tenant],
        ).sort(([[one]], [[other]]) => (String(one) < String(other) ? -1 : 1));
      const costTo = (
        tenant: unknown,
        carrier: unknown,
        tracking: string,
        currency: unknown,
      ): bigint | null => {
        if (carrier !== 'ups' || currency !== 'USD' || Number(tracking.slice(1)) >= 40) return null;
        const shares = bearers(carrier, tracking, currency).map(([[name], group]) => {
          const billed = costOf(group);
          return { name, billed: billed > 0n ? billed : 0n };
        });
        const whole = shares.reduce((sum, { billed }) => sum + billed, 0n);
        if (whole === 0n) return shares[0]?.name === tenant ? 70_001n : 0n;
        let before = 0n;
        for (const { name, billed } of shares) {
          const to = roundedQuotient(70_001n * (before + billed), whole);
          if (name === tenant) return to - roundedQuotient(70_001n * before, whole);
          before += billed;
        }
        return 0n;
      };
      return grouped(lines, (line) => [line.tenant, line.carrier, line.currency]).map(
        ([[tenant, carrier, currency], group]) => {
          const numbers = grouped(group, (line) => [line.tracking]).map(([[tracking], of]) => ({
            billed: costOf(of),
            own: costTo(tenant, carrier, String(tracking), currency),
          }));
          const covered = numbers.filter(({ own }) => own !== null);
          const billed = covered.reduce((sum, number) => sum + number.billed, 0n);
          const own = covered.reduce((sum, number) => sum + (number.own ?? 0n), 0n);
          return {
            ...{ tenant, carrier, currency_code: currency, tracking_numbers: numbers.length },
            ...{ covered_numbers: covered.length, billing_cost: D(costOf(group)), covered_cost: D(billed) },
            ...{ own_cost: D(own), margin: D(billed - own), margin_percent: percent(billed - own, billed) },
          };
        },
      );
    },
    {
      files: {
        costs: [
          'carrier,tracking_number,currency_code,cost',
          ...Array.from({ length: 40 }, (_, at) => [`UPS,T${at},USD,7`, `ups,T${at},USD,0.0001`]).flat(),
        ],
      },
    },
  ));

test('budget', () =>
  agrees(
    'budget',
    (lines) =>
      [
        { month: '2026-02', tenant: null, carrier: null, budget: 5_000_000n, rate: 112_345_678n },
        { month: '2026-03', tenant: 'acme', carrier: 'UPS', budget: 1_000_000n, rate: 120_000_000n },
      ].map(({ month, tenant, carrier, budget, rate }) => {
        const of = lines.filter(
          (line) =>
            line.shipDate.startsWith(month) &&
            (tenant === null || line.tenant.toLowerCase() === tenant) &&
            (carrier === null || line.carrier === carrier.toLowerCase()),
        );
        const euros = costOf(of.filter((line) => line.currency === 'EUR'));
        const cost =
          costOf(of.filter((line) => line.currency === 'USD')) + roundedQuotient(euros * rate, 100_000_000n);
        return {
          ...{ month, tenant, carrier, currency_code: 'USD', shipments: of.length, unconverted: 0 },
          ...{ budget: D(budget), billing_cost: D(cost), variance: D(cost - budget) },
          used_percent: percent(cost, budget),
        };
      }),
    {
      files: {
        budget: [
          'month,tenant,carrier,currency_code,amount',
          '2026-02,,,USD,500',
          '2026-03,acme,UPS,USD,60',
          '2026-03,Acme,ups,usd,40',
        ].map((line) => line.replace('Acme,ups', 'acme,UPS')),
        fx: ['month,from_currency,to_currency,rate', ',EUR,USD,1.12345678', '2026-03,EUR,USD,1.2'],
      },
    },
  ));
