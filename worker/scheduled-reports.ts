import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  makeStatements,
  type StatementSources,
  statementMonth,
} from '../finance/statements/make-statements.ts';
import { renderStatement, STATEMENT_FORMATS, writeFiles } from '../finance/statements/render-statement.ts';
import { PAPERS, statementRefused } from '../finance/statements/statement.ts';
import { sumOfAmounts } from '../lib/decimal.ts';
import { writeWhole } from '../lib/files/files.ts';
import { invalidFilter } from '../reports/errors.ts';
import { parsePeriod } from '../reports/period.ts';
import { headLines } from '../reports/render/labels.ts';
import { REPORT_FORMATS, renderReport } from '../reports/render/render-report.ts';
import { checkFilters } from '../reports/report-filters.ts';
import { runReport } from '../reports/report-session.ts';
import { type ScheduledReport, TENANT_STATEMENTS, type WrittenReport } from '../workflows/activities.ts';

/** The time limit is longer than that of a report at a terminal, where a person waits. */
const TIME_LIMIT_MS = 600_000;

type Sources = Omit<StatementSources, 'timeLimitMs'>;

export function writeScheduledReport(scheduled: ScheduledReport, sources: Sources): Promise<WrittenReport> {
  const write = scheduled.report === TENANT_STATEMENTS ? writeStatements : writeReport;
  return write(scheduled, sources);
}

export async function writeReport(
  scheduled: ScheduledReport,
  { databasePath, now }: Pick<Sources, 'databasePath' | 'now'>,
): Promise<WrittenReport> {
  const format = REPORT_FORMATS.find((known) => known === scheduled.format);
  if (!format) throw invalidFilter(`There is no format "${scheduled.format}".`);
  const result = await runReport({
    databasePath,
    name: scheduled.report,
    filters: {
      ...scheduled.filters,
      ...(scheduled.period === null ? {} : parsePeriod(scheduled.period, now)),
    },
    parameters: scheduled.parameters,
    tables: scheduled.tables,
    timeLimitMs: TIME_LIMIT_MS,
  });
  const { body, extension } = await renderReport(result, format);
  const path = join(scheduled.folder, `${scheduled.name}-${now.toISOString().slice(0, 10)}.${extension}`);
  await mkdir(scheduled.folder, { recursive: true });
  await writeWhole(path, body);
  const about = [
    result.title,
    ...headLines(result.head).map(([label, value]) => `${label}: ${value}`),
    ...result.head.notes,
  ];
  return { path, rows: result.rows.length, about: about.join(' · ') };
}

/** Writes the statements of the previous month. A repeated run does not send one twice. */
export async function writeStatements(
  { format: requested, folder, filters, parameters, tables }: ScheduledReport,
  sources: Sources,
): Promise<WrittenReport> {
  const format = STATEMENT_FORMATS.find((known) => known === requested);
  if (!format) throw statementRefused(`There is no format "${requested}" of statements.`);
  const paper = PAPERS.find((known) => known === parameters.paper);
  const period = statementMonth(undefined, sources.now);
  const path = join(folder, period);
  const request = {
    ...{ tenants: [...(filters.tenants ?? [])], partners: [...(filters.partners ?? [])], period },
    ...{ by: checkFilters(filters).by, costs: tables.costs },
    isFinal: parameters.final === 'yes',
    withShipments: parameters.shipments !== 'no',
  };
  const totals = new Map<string, string>();
  const rows = await makeStatements({ ...sources, timeLimitMs: TIME_LIMIT_MS }, request, async (made) => {
    await writeFiles(path, await renderStatement(made, format, paper));
    for (const { currency_code, total } of made.statement.totals)
      totals.set(currency_code, sumOfAmounts([totals.get(currency_code) ?? '0', total]));
  });
  const sums = [...totals].sort().map(([currency, total]) => `${total} ${currency}`);
  const count = `${rows} ${request.isFinal ? '' : 'draft '}statement${rows === 1 ? '' : 's'} of ${period}`;
  return { path, rows, about: [count, ...sums].join(' · ') };
}
