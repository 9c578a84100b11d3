import { z } from 'zod';
import { PERIOD_FORMS } from '../../reports/period.ts';
import { DATE_BASES, REPORT_LEVELS } from '../../reports/report-filters.ts';
import { DEFAULT_SORT, SHIPMENT_COLUMNS } from '../../reports/shipments/columns.ts';
import { EXACT_CONDITIONS, TYPED_CONDITIONS } from '../../reports/shipments/conditions.ts';

/** An answer with more rows would fill an assistant's context. */
const MAX_ROWS = 2_000;
const DEFAULT_ROWS = 200;

/** DuckDB plans a list of this many values in milliseconds. */
const MAX_VALUES = 1_000;
const MAX_CONDITIONS = 30;
const MAX_LETTERS = 500;

const text = z.string().max(MAX_LETTERS);
const names = z.array(text).max(MAX_VALUES);
const few = [
  (entries: object) => Object.keys(entries).length <= MAX_CONDITIONS,
  `no more than ${MAX_CONDITIONS}`,
] as const;

const filters = {
  from: text.describe('First day, YYYY-MM-DD.'),
  to: text.describe('Last day, included, YYYY-MM-DD.'),
  period: text.describe(`Instead of \`from\` and \`to\`: ${PERIOD_FORMS}; relative to today in UTC.`),
  by: z.enum(DATE_BASES).describe('The date that the period selects by; by default the ship date.'),
  partner: names.describe('Only these partners, by id or name. Partners are never added up.'),
  tenant: names.describe('Only these tenants, by id or name.'),
  carrier: names.describe('Only these carriers, in capital or small letters.'),
  zone: names.describe('Only these zones, as the carrier wrote them; the empty text is "no zone".'),
  currency: names.describe('Only these currencies, as ISO 4217 codes. Currencies are never added up.'),
  level: z.enum(REPORT_LEVELS).describe("Invoices of tenants, or the partner's own that sum them."),
  as_known_on: text.describe(
    'Answer as it would have been answered then: an ISO 8601 instant, or a day, which is its end in UTC.',
  ),
};

const limit = z
  .int()
  .min(1)
  .max(MAX_ROWS)
  .default(DEFAULT_ROWS)
  .describe('Maximum number of rows; the answer has their total number.');

export const reportQuestion = z.strictObject({
  report: text.describe('Name of the report, as list_reports gives it.'),
  ...z.object(filters).partial().shape,
  compare: text
    .optional()
    .describe('Adds the values of another period: previous, last-year, or a period as `period` takes it.'),
  parameters: z
    .record(text, text)
    .refine(...few)
    .default({})
    .describe("The report's own parameters, as list_reports describes them."),
  limit,
});

export const shipmentsQuestion = z.strictObject({
  ...z.object(filters).partial().shape,
  conditions: z
    .record(text, names)
    .refine(...few)
    .default({})
    .describe(
      `More conditions: ${TYPED_CONDITIONS.map(({ name, label }) => `${name} (${label})`).join(', ')}; or exactly this ` +
        `value, the empty text for none: ${EXACT_CONDITIONS.join(', ')}. Several values of one mean any of them.`,
    ),
  columns: names
    .default([])
    .describe(`Only these columns of ${SHIPMENT_COLUMNS.join(', ')}; by default all.`),
  sort: text.default(DEFAULT_SORT).describe('A column, with - before it for the largest first.'),
  after: z
    .string()
    .max(10 * MAX_LETTERS)
    .optional()
    .describe('`next` of the page before.'),
  limit,
});

export const explainQuestion = z.strictObject({
  tracking_number: text.min(1).describe('Letter by letter, as the carrier wrote it.'),
});
