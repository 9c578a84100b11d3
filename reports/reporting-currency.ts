import type { ReportRow } from './cells.ts';
import type { PublishedFile } from './open-published-file.ts';
import { createSharedViews } from './prepare-session.ts';
import { grouped, plural } from './render/labels.ts';
import { readColumns, readRows } from './report-result.ts';

const MAX_RATES = 24;

/** Sentences about the total in a reporting currency: its rates with their days, and the currencies that it leaves out. */
export async function reportingNotes(file: PublishedFile, currency: string): Promise<readonly string[]> {
  await createSharedViews(file, 'converted_months');
  const reader = await file.query('from converted_months($currency)', { currency });
  const months = readRows(reader, readColumns(reader));
  const rated = months.filter(({ rate }) => rate !== null);
  const unrated = months.filter(({ rate }) => rate === null);
  const total = String(rated[0]?.total ?? '0.0000');
  const rates = [
    ...new Set(rated.filter(({ currency_code }) => currency_code !== currency).map((row) => rateText(row))),
  ];
  const more = rates.length > MAX_RATES ? ` and ${rates.length - MAX_RATES} more` : '';
  const by = rates.length === 0 ? '' : `, with the rates ${rates.slice(0, MAX_RATES).join(', ')}${more}`;
  const isOnlyUnrated = rated.length === 0 && unrated.length > 0;
  return [
    ...(isOnlyUnrated ? [] : [`In ${currency}: ${grouped(total)} for ${linesIn(rated)}${by}.`]),
    ...[...Map.groupBy(unrated, ({ currency_code }) => currency_code)].map(
      ([code, of]) =>
        `Not in any amount in ${currency}: ${linesIn(of)} in ${code} of ${of.map(({ month }) => month).join(', ')}, for which no exchange rate is given (--fx FILE, or user/report-files/fx.csv).`,
    ),
  ];
}

function rateText({ currency_code: from, rate, rate_month: month, taken_on: day }: ReportRow): string {
  const validity = month === null ? 'for every month' : `for ${month}`;
  return `${from} ${String(rate).replace(/\.?0+$/, '')} (${day === null ? validity : `of ${day}, ${validity}`})`;
}

function linesIn(months: readonly ReportRow[]): string {
  return plural(
    months.reduce((sum, { shipments }) => sum + Number(shipments), 0),
    'shipment',
  );
}
