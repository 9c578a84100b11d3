/** The period with which an address compares its own. */

import { comparedPeriod as comparedPeriodOf, type Period } from '../../reports/period.ts';
import { filtersOf, one, type Query } from '../address.ts';

/** null: with none. @throws ReportError it cannot be compared */
export function comparedPeriod(query: Query): Period | null {
  const compare = one(query, 'compare');
  return compare === undefined ? null : comparedPeriodOf(compare, filtersOf(query));
}
