/** The reports that the model answers, with the parameters that are tried. */

import type { Parameters, Report } from './answer.ts';
import * as invoices from './reports/invoices.ts';
import * as lines from './reports/lines.ts';
import * as periods from './reports/periods.ts';
import * as prices from './reports/prices.ts';
import * as spend from './reports/spend.ts';

interface Entry {
  readonly report: Report;
  readonly tried: readonly Parameters[];
}

/** Few lines have a price, so all reports of prices are tried with a low limit too. */
const FEW = { min_shipments: '1' };

const TWO_PERIODS = {
  first_from: '2026-01-01',
  first_to: '2026-01-31',
  second_from: '2026-02-01',
  second_to: '2026-02-28',
};

export const CATALOGUE: Readonly<Record<string, Entry>> = {
  tenants: { report: spend.tenants, tried: [{}] },
  carriers: { report: spend.carriers, tried: [{}] },
  zones: { report: spend.zones, tried: [{}] },
  cost: {
    report: spend.cost,
    tried: [
      ...[{}, { by: 'month' }, { by: 'week+tenant' }, { by: 'zone+service' }],
      ...[{ by: 'origin' }, { by: 'weight+carrier' }],
    ],
  },
  summary: { report: spend.summary, tried: [{}, { grain: 'week' }] },
  services: { report: prices.services, tried: [{}, { ground: '2day' }] },
  mix: { report: prices.mix, tried: [{}, { by: 'service' }, { by: 'weight', grain: 'week' }] },
  'rate-card': { report: prices.rateCard, tried: [{}, { min_shipments: '2' }] },
  'price-changes': {
    report: prices.priceChanges,
    tried: [{}, { ...FEW, min_cells: '1' }, { ...FEW, by: 'zone', min_cells: '2' }],
  },
  outliers: {
    report: prices.outliers,
    tried: [{ min_shipments: '3' }, { ...FEW, threshold: '1', min_percent: '0' }],
  },
  'minimum-charges': { report: prices.minimumCharges, tried: [{}, { ...FEW, min_cells: '1' }] },
  'dimensional-weight': {
    report: prices.dimensionalWeight,
    tried: [
      { min_shipments: '2', min_lb: '1' },
      { ...FEW, times: '1', min_lb: '0' },
    ],
  },
  duplicates: { report: lines.duplicates, tried: [{}] },
  adjustments: { report: lines.adjustments, tried: [{}] },
  'late-billed': { report: lines.lateBilled, tried: [{}, { days: '0' }] },
  levels: { report: lines.levels, tried: [{}] },
  'billing-lag': { report: lines.billingLag, tried: [{}] },
  waiting: { report: invoices.waiting, tried: [{}, { stuck_after_days: '1' }] },
  proof: { report: invoices.proof, tried: [{}] },
  register: { report: invoices.register, tried: [{}, { usual_of: '2', min_invoices: '1' }] },
  payables: { report: invoices.payables, tried: [{}] },
  restatement: { report: invoices.restatement, tried: [{}, { first: '2026-03-01' }] },
  rebills: { report: invoices.rebills, tried: [{}, { min_shared_percent: '60' }] },
  'rolling-spend': { report: periods.rollingSpend, tried: [{}, { weeks: '4' }] },
  bridge: {
    report: periods.bridge,
    tried: [{}, { by: 'zone' }, ...['total', 'carrier', 'tenant'].map((by) => ({ ...TWO_PERIODS, by }))],
  },
  'what-if': {
    report: periods.whatIf,
    tried: [
      FEW,
      { ...FEW, by: 'service' },
      { ...FEW, by: 'zone' },
      { min_shipments: '2', same_service: '0' },
    ],
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
