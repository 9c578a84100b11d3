/** The reports that the model answers, with the parameters that are tried. */

import type { Parameters, Report } from './answer.ts';
import * as lines from './reports/lines.ts';
import * as prices from './reports/prices.ts';
import * as spend from './reports/spend.ts';

interface Entry {
  readonly report: Report;
  readonly tried: readonly Parameters[];
}

/** Few lines have a price, so all reports of prices are tried with a low limit too. */
const FEW = { min_shipments: '1' };

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
    tried: [{ min_shipments: '2' }, { ...FEW, times: '1.5', min_lb: '1' }],
  },
  duplicates: { report: lines.duplicates, tried: [{}] },
  adjustments: { report: lines.adjustments, tried: [{}] },
  'late-billed': { report: lines.lateBilled, tried: [{}, { days: '0' }] },
  levels: { report: lines.levels, tried: [{}] },
  'billing-lag': { report: lines.billingLag, tried: [{}] },
  'data-quality': { report: lines.dataQuality, tried: [{}] },
};
