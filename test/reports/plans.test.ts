import { afterAll, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import { openPublishedFile } from '../../reports/open-published-file.ts';
import { loadOptionalTables } from '../../reports/optional-tables.ts';
import { bindParameters, setParameterVariables } from '../../reports/parameters.ts';
import { createSharedViews, prepareSession } from '../../reports/prepare-session.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';

/** One of the joined tables has a few rows: the steps of a bridge, its periods, the lines of a budget. */
const FEW_ROWS = new Set(['bridge', 'budget']);

const fixture = await reportsFixture([anInvoice([aShipment()])]);
afterAll(fixture.remove);

test.each(listReports().filter(({ name }) => !FEW_ROWS.has(name)))(
  '$name joins by equal values, not every row with every other',
  async (report) => {
    const file = await openPublishedFile(fixture.path);
    try {
      const session = await prepareSession(file, checkFilters({}));
      await session.count();
      const values = bindParameters(report, {});
      await loadOptionalTables(file, report, {}, values.texts);
      const sql = await setParameterVariables(file, report, values);
      await createSharedViews(file, report.sql);
      const plan = (await file.query(`explain ${sql}`)).getRows().join('\n');
      expect(plan).not.toMatch(/BLOCKWISE_NL_JOIN|NESTED_LOOP_JOIN/);
    } finally {
      file.close();
    }
  },
);
