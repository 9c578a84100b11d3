/** Makes the scheduled statements of the month before and puts them into a folder of that month. */

import { join } from 'node:path';
import type { ScheduledReport, WrittenReport } from '../activities/write-report.ts';
import {
  makeStatements,
  type StatementSources,
  statementMonth,
} from '../finance/statements/make-statements.ts';
import { renderStatement, STATEMENT_FORMATS, writeFiles } from '../finance/statements/render-statement.ts';
import { PAPERS, StatementRefusedError } from '../finance/statements/statement.ts';
import { sumOfAmounts } from '../lib/wire/decimal.ts';
import { checkFilters } from '../reports/report-filters.ts';

const TIME_LIMIT_MS = 600_000;

/**
 * A run that failed halfway is begun again: what was sent is not sent twice, and its files are the same.
 *
 * @returns the folder `FOLDER/2026-10`, and how many statements are in it
 * @throws what `makeStatements` throws; nothing is announced then
 */
export async function writeStatements(
  { format: asked, folder, filters, parameters, tables }: ScheduledReport,
  sources: Omit<StatementSources, 'timeLimitMs'>,
): Promise<WrittenReport> {
  const format = STATEMENT_FORMATS.find((known) => known === asked);
  if (!format) throw new StatementRefusedError(`There is no format "${asked}" of statements.`);
  const paper = PAPERS.find((known) => known === parameters.paper);
  const period = statementMonth(undefined, sources.now);
  const path = join(folder, period);
  const wanted = {
    ...{ tenants: [...(filters.tenants ?? [])], partners: [...(filters.partners ?? [])], period },
    ...{
      ...{ by: checkFilters(filters).by, costs: tables.costs },
      isFinal: parameters.final === 'yes',
      withShipments: parameters.shipments !== 'no',
    },
  };
  const totals = new Map<string, string>();
  const rows = await makeStatements({ ...sources, timeLimitMs: TIME_LIMIT_MS }, wanted, async (made) => {
    await writeFiles(path, await renderStatement(made, format, paper));
    for (const { currency_code, total } of made.statement.totals)
      totals.set(currency_code, sumOfAmounts([totals.get(currency_code) ?? '0', total]));
  });
  const sums = [...totals].sort().map(([currency, total]) => `${total} ${currency}`);
  const what = `${rows} ${wanted.isFinal ? '' : 'draft '}statement${rows === 1 ? '' : 's'} of ${period}`;
  return { path, rows, about: [what, ...sums].join(' · ') };
}
