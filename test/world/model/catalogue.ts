/** The reports that the model answers, with the parameters that are tried. */

import type { Parameters, Report } from './answer.ts';
import * as spend from './reports/spend.ts';

interface Entry {
  readonly report: Report;
  readonly tried: readonly Parameters[];
}

export const CATALOGUE: Readonly<Record<string, Entry>> = {
  tenants: { report: spend.tenants, tried: [{}] },
  carriers: { report: spend.carriers, tried: [{}] },
  zones: { report: spend.zones, tried: [{}] },
  cost: {
    report: spend.cost,
    tried: [
      {},
      { by: 'month' },
      { by: 'week+tenant' },
      { by: 'zone+service' },
      { by: 'origin' },
      { by: 'weight+carrier' },
    ],
  },
  summary: { report: spend.summary, tried: [{}, { grain: 'week' }] },
};
