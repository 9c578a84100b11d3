/** The list of shipments: which lines a condition selects, and their order. */

import { exactPounds, month, POUND, periodOf, plainOrigin, plainZone } from './answer.ts';
import { parsed } from './exact.ts';
import { weightBreak } from './reports/spend.ts';
import type { Line } from './view.ts';

type Holds = (line: Line, value: string) => boolean;

/** In ten-thousandths of a pound, as typed limits have. */
const isWeight =
  (compare: (pounds: bigint, limit: bigint) => boolean): Holds =>
  (line, value) => {
    const pounds = exactPounds(line);
    return pounds !== null && compare(pounds, (parsed(value) * POUND) / 10_000n);
  };

/** By the name of the condition: values that are tried, and what holds for a selected line. */
export const CONDITIONS: Readonly<Record<string, readonly [values: readonly string[], holds: Holds]>> = {
  service: [['2day', 'GROUND'], ({ service }, value) => service?.toLowerCase() === value.toLowerCase()],
  origin: [[' 94107 ', 'k1a 0B1'], ({ origin }, value) => plainOrigin(origin) === plainOrigin(value)],
  cost_from: [['10', '0'], ({ cost }, value) => cost >= parsed(value)],
  cost_to: [['8.74', '-0.0001'], ({ cost }, value) => cost <= parsed(value)],
  weight_from: [['1', '1.0001'], isWeight((pounds, limit) => pounds >= limit)],
  weight_to: [['1', '2'], isWeight((pounds, limit) => pounds <= limit)],
  lines: [
    ['credits', 'charges', 'free'],
    ({ cost }, value) => (value === 'credits' ? cost < 0n : value === 'charges' ? cost > 0n : cost === 0n),
  ],
  days_to: [['2026-01-31'], ({ date }, value) => date <= value],
  days_from: [['2026-01-31'], ({ date }, value) => date >= value],
  is_service_level: [['', 'Ground'], ({ service }, value) => (service ?? '') === value],
  is_zone: [['5', ''], ({ zone }, value) => (plainZone(zone) ?? '') === value],
  is_carrier_zone: [['05', ''], ({ zone }, value) => (zone ?? '') === value],
  is_carrier: [['ups'], ({ carrier }, value) => carrier === value],
  is_tenant: [['Acme', 'Beta'], ({ label }, value) => label === value],
  is_month: [['2026-01'], ({ date }, value) => month(date) === value],
  is_week: [['2026-W01', '2026-W05'], ({ date }, value) => periodOf(date, 'week').name === value],
  is_weight_break: [['no weight', '0 to 1 lb', '1 to 2 lb'], (line, value) => weightBreak(line)[1] === value],
};

type Sorted = bigint | string | null;

/** By the column that sorts: its value. */
export const SORTED: Readonly<Record<string, (line: Line) => Sorted>> = {
  ship_date: ({ shipDate }) => shipDate,
  billing_cost: ({ cost }) => cost,
  billable_weight: ({ weight }) => weight,
  service_level: ({ service }) => service,
  origin: ({ origin }) => origin,
  tracking_number: ({ tracking }) => tracking,
  invoice_id: ({ invoice }) => invoice.id,
};
