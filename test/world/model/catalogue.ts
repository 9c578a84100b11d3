/** The reports that the model answers, with the parameters that are tried. */

import type { Question } from '../history.ts';
import type { Files, Parameters, Report } from './answer.ts';
import * as files from './reports/files.ts';
import { gaps } from './reports/gaps.ts';
import * as invoices from './reports/invoices.ts';
import * as lines from './reports/lines.ts';
import * as periods from './reports/periods.ts';
import * as prices from './reports/prices.ts';
import * as spend from './reports/spend.ts';

interface Entry {
  readonly report: Report;
  readonly tried: readonly Parameters[];
  /** One's own files: with the first parameters. */
  readonly files?: Files;
}

/** Few lines have a price, so all reports of prices are tried with a low limit too. */
const FEW = { min_shipments: '1' };

const TWO_PERIODS = {
  first_from: '2026-01-01',
  first_to: '2026-01-31',
  second_from: '2026-02-01',
  second_to: '2026-02-28',
};

/** The most that a column holds; of the currency that only lines of such amounts have. */
const MOST = '99999999999999.9999';

const RATE = {
  ...{ carrier: '', service_level: '', zone: '', from_weight: '', to_weight: '', currency_code: 'USD' },
  ...{ rate: '15', valid_from: '', valid_to: '', unit: '' },
};

/** DHL rates in half kilograms up to five, then in whole ones; UPS in ounces up to a pound, then in three pounds; the others in two pounds. */
const WEIGHTS: Files = {
  weights: [
    { carrier: 'dhl express', unit: 'KG', step: '0.5', up_to: '5' },
    { carrier: 'DHL Express', unit: 'kg', step: '1', up_to: '' },
    { carrier: 'UPS', unit: 'oz', step: '5', up_to: '16' },
    { carrier: 'UPS', unit: 'lb', step: '3', up_to: '' },
    { carrier: '', unit: 'lb', step: '2', up_to: '' },
  ],
};

const PAYMENTS: Files = {
  payments: [
    { invoice_number: 'INV-1', currency_code: 'USD', amount: '20.1234' },
    { invoice_number: 'INV-1', currency_code: 'usd', amount: '5' },
    { invoice_number: 'INV-2', currency_code: 'USD', amount: '900', tenant: 'acme' },
    { invoice_number: 'INV-3', currency_code: 'EUR', amount: '-5' },
    {
      invoice_number: 'X',
      currency_code: 'JPY',
      amount: '7',
      tenant: 'aaaaaaaa-0000-4000-8000-000000000001',
    },
    { invoice_number: 'none', currency_code: 'USD', amount: '5' },
  ],
};

const EXCHANGE_RATES = [
  { month: '', from_currency: 'EUR', to_currency: 'USD', rate: '1.12345678' },
  { month: '2026-01', from_currency: 'EUR', to_currency: 'USD', rate: '1.2' },
  { month: '', from_currency: 'USD', to_currency: 'EUR', rate: '0.9' },
];

export const CATALOGUE: Readonly<Record<string, Entry>> = {
  tenants: { report: spend.tenants, tried: [{}] },
  carriers: { report: spend.carriers, tried: [{}] },
  zones: { report: spend.zones, tried: [{}] },
  cost: {
    report: spend.cost,
    tried: [
      ...[{}, { by: 'month' }, { by: 'week+tenant' }, { by: 'zone+service' }],
      ...[
        { by: 'origin' },
        { by: 'weight+carrier' },
        { by: 'zone+week+month' },
        { by: 'carrier', in: 'usd' },
        { by: 'week', in: 'EUR' },
      ],
    ],
    files: { fx: EXCHANGE_RATES },
  },
  summary: { report: spend.summary, tried: [{}, { grain: 'week' }] },
  services: { report: prices.services, tried: [{}, { ground: '2day' }], files: WEIGHTS },
  mix: { report: prices.mix, tried: [{}, { by: 'service' }, { by: 'weight', grain: 'week' }] },
  'rate-card': { report: prices.rateCard, tried: [{}, { min_shipments: '2' }], files: WEIGHTS },
  'price-changes': {
    report: prices.priceChanges,
    tried: [{}, { ...FEW, min_cells: '1' }, { ...FEW, by: 'zone', min_cells: '2' }],
    files: WEIGHTS,
  },
  outliers: {
    report: prices.outliers,
    tried: [
      { min_shipments: '3' },
      { ...FEW, threshold: '1', min_percent: '0' },
      { ...FEW, threshold: '0.5', min_amount: '0.0001', limit: '1' },
    ],
    files: WEIGHTS,
  },
  'minimum-charges': { report: prices.minimumCharges, tried: [{}, { ...FEW, min_cells: '1' }] },
  'dimensional-weight': {
    report: prices.dimensionalWeight,
    tried: [
      { min_shipments: '2', min_lb: '1' },
      { ...FEW, times: '1', min_lb: '0' },
      { ...FEW, times: '1.5', min_lb: '1', limit: '2' },
    ],
  },
  duplicates: { report: lines.duplicates, tried: [{}, { limit: '2' }] },
  adjustments: {
    report: lines.adjustments,
    tried: [{}, { limit: '1' }],
    files: {
      disputes: [
        { carrier: 'UPS', tracking_number: '1Z1', currency_code: 'USD', amount: '4.5' },
        { carrier: 'ups', tracking_number: '1Z1', currency_code: 'usd', amount: '9' },
        { carrier: 'fedex', tracking_number: 'A', currency_code: 'EUR', amount: '1' },
        { carrier: 'ups', tracking_number: '1Z1', currency_code: 'IRR', amount: MOST },
      ],
    },
  },
  'late-billed': { report: lines.lateBilled, tried: [{}, { days: '0' }, { days: '28', limit: '1' }] },
  levels: { report: lines.levels, tried: [{}] },
  'billing-lag': { report: lines.billingLag, tried: [{}] },
  waiting: { report: invoices.waiting, tried: [{}, { stuck_after_days: '1' }] },
  proof: {
    report: invoices.proof,
    tried: [{}],
    files: {
      accepted: [
        { invoice_number: '', rule: 'shipment-count', reason: 'counted otherwise' },
        { invoice_number: 'INV-1', rule: 'total-amount', reason: 'credited' },
        { invoice_number: '', rule: 'period', reason: 'late' },
        { invoice_number: 'INV-2', rule: 'currency', reason: 'late' },
      ],
    },
  },
  register: { report: invoices.register, tried: [{}, { usual_of: '2', min_invoices: '1' }], files: PAYMENTS },
  payables: { report: invoices.payables, tried: [{}], files: PAYMENTS },
  restatement: { report: invoices.restatement, tried: [{}, { first: '2026-03-01' }] },
  rebills: { report: invoices.rebills, tried: [{}, { min_shared_percent: '60' }] },
  gaps: { report: gaps, tried: [{}, { min_invoices: '2' }] },
  'carrier-statements': {
    report: files.carrierStatements,
    tried: [{}],
    files: {
      statements: [
        { carrier: 'UPS', carrier_invoice_date: '2026-01-31', currency_code: 'USD', amount: '10' },
        { carrier: 'Ups', carrier_invoice_date: '2026-01-31', currency_code: 'usd', amount: '0.5' },
        { carrier: 'DHL', carrier_invoice_date: '2026-01-31', currency_code: 'EUR', amount: '3' },
        { carrier: 'ups', carrier_invoice_date: '2026-01-31', currency_code: 'IRR', amount: `-${MOST}` },
      ],
    },
  },
  budget: {
    report: files.budget,
    tried: [{}],
    files: {
      budget: [
        { month: '2026-01', tenant: '', carrier: '', currency_code: 'USD', amount: '500' },
        { month: '2026-01', tenant: 'acme', carrier: 'UPS', currency_code: 'USD', amount: '60' },
        { month: '2026-01', tenant: 'acme', carrier: 'UPS', currency_code: 'usd', amount: '40' },
        {
          month: '2026-02',
          tenant: 'aaaaaaaa-0000-4000-8000-000000000001',
          carrier: '',
          currency_code: 'EUR',
          amount: '1',
        },
        { month: '2026-02', tenant: '', carrier: '', currency_code: 'IRR', amount: '0.0001' },
      ],
      fx: [
        ...EXCHANGE_RATES,
        { month: '', from_currency: 'IRR', to_currency: 'USD', rate: '0.00000001' },
        { month: '', from_currency: 'USD', to_currency: 'IRR', rate: '9999999999.99999999' },
      ],
    },
  },
  margin: {
    report: files.margin,
    tried: [{}],
    files: {
      costs: [
        { carrier: 'UPS', tracking_number: '1Z1', currency_code: 'USD', cost: '7' },
        { carrier: 'ups', tracking_number: '1Z1', currency_code: 'USD', cost: '0.0001' },
        { carrier: 'ups', tracking_number: '1Z2', currency_code: 'usd', cost: '3.3333' },
        { carrier: 'FedEx', tracking_number: 'A', currency_code: 'EUR', cost: '1' },
        { carrier: 'ups', tracking_number: '1Z1', currency_code: 'IRR', cost: MOST },
        { carrier: 'ups', tracking_number: '1Z2', currency_code: 'IRR', cost: `-${MOST}` },
      ],
    },
  },
  'rate-variance': {
    report: files.rateVariance,
    tried: [{}],
    files: {
      rates: [
        ...[RATE, { ...RATE, rate: '9.5' }, { ...RATE, carrier: 'UPS', service_level: 'GROUND', rate: '9' }],
        ...[
          { ...RATE, zone: 'Zone 5', rate: '10.3' },
          { ...RATE, zone: '5', valid_from: '2026-01-31', rate: '11.3' },
        ],
        { ...RATE, carrier: 'ups', from_weight: '0', to_weight: '0.5', unit: 'KG', rate: '8.1' },
        ...[
          { ...RATE, carrier: 'ups', currency_code: 'IRR', rate: MOST },
          { ...RATE, carrier: 'FedEx', currency_code: 'IRR', rate: '0.0001' },
        ],
        { ...RATE, zone: 'a', valid_from: '2026-01-01', valid_to: '2026-01-31', rate: '12' },
      ],
    },
  },
  'rolling-spend': { report: periods.rollingSpend, tried: [{}, { weeks: '4' }] },
  bridge: {
    report: periods.bridge,
    tried: [
      ...[{}, { by: 'zone' }, { second_from: '2026-02-01', second_to: '2026-02-28' }],
      ...['total', 'carrier', 'tenant'].map((by) => ({ ...TWO_PERIODS, by })),
    ],
    files: WEIGHTS,
  },
  'what-if': {
    report: periods.whatIf,
    tried: [
      FEW,
      { ...FEW, by: 'service' },
      { ...FEW, by: 'zone' },
      { min_shipments: '2', same_service: '0' },
    ],
    files: WEIGHTS,
  },
  accrual: {
    report: periods.accrual,
    tried: [
      {},
      { complete_after: '1', min_months: '1' },
      { complete_after: '2', min_months: '2', closing: '2026-02-28' },
    ],
  },
  'accrual-journal': { report: periods.accrualJournal, tried: [{ complete_after: '2', min_months: '1' }] },
  'data-quality': { report: lines.dataQuality, tried: [{}] },
};

const COMPARED = ['tenants', 'carriers', 'zones', 'services', 'cost', 'bridge'];
const PERIODS = ['previous', 'last-year', '2026-01'];
const TIMED = /month|week/;
/** The reports of costs by two columns, with the one that goes across. */
const PIVOTS: readonly (Question & { readonly pivot: string })[] = [
  { report: 'services', parameters: {}, pivot: 'service_level' },
  { report: 'services', parameters: {}, pivot: 'carrier' },
  { report: 'cost', parameters: { by: 'week+tenant' }, pivot: 'tenant' },
  { report: 'cost', parameters: { by: 'zone+service' }, pivot: 'service_level' },
  { report: 'cost', parameters: { by: 'weight+carrier' }, pivot: 'weight_break' },
];

/** Every report with each of its parameters, with files of one's own, with comparisons and pivots. */
export const QUESTIONS: readonly Question[] = [
  ...Object.entries(CATALOGUE).flatMap(([report, { tried, files }]) =>
    tried.flatMap((parameters, at) => [
      { report, parameters },
      ...(files === undefined || at > 1 ? [] : [{ report, parameters, files }]),
      ...(COMPARED.includes(report) && !TIMED.test(parameters.by ?? '') && parameters.second_to === undefined
        ? PERIODS.filter((_, place) => at < 2 || at % PERIODS.length === place).map((compare) => ({
            ...{ report, parameters, compare },
          }))
        : []),
    ]),
  ),
  ...PIVOTS,
];
