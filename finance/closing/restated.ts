import type { Alerts } from '../../lib/alerts/alerts.ts';
import { sumOfAmounts } from '../../lib/decimal.ts';
import { identityOf } from '../../lib/files/files.ts';
import type { Check } from '../../lib/health/health.ts';
import type { Logger } from '../../lib/log/log.ts';
import { messageOf } from '../../lib/system-errors.ts';
import { isReportError } from '../../reports/errors.ts';
import { runReport } from '../../reports/report-session.ts';
import { type ClosedMonth, type MonthEntry, readMonths } from './month-journal.ts';

export interface Restated {
  readonly period: string;
  readonly partner_id: string | null;
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly tenant: string | null;
  readonly currency_code: string;
  /** One of `loaded`, `voided` and `new file`. */
  readonly cause: string;
  readonly difference: string;
}

/**
 * Changes of closed months before `before` that no later closing has. @param before null: of all closed months
 * @throws ReportError
 */
export async function restatedAfterClosing(
  databasePath: string,
  entries: readonly MonthEntry[],
  before: string | null,
): Promise<readonly Restated[]> {
  const closed = entries.filter((entry): entry is ClosedMonth => entry.kind === 'closed');
  const months = [...new Map(closed.map((entry) => [entry.period, entry])).values()];
  const found: Restated[] = [];
  for (const { period, date_basis } of months.filter((month) => before === null || month.period < before)) {
    const first = closed.filter((entry) => entry.period >= period).at(-1)?.published_at ?? '';
    const { rows } = await runReport({
      ...{ databasePath, name: 'restatement', parameters: { first } },
      filters: { period, by: date_basis },
    });
    for (const row of rows) found.push({ period, ...(row as unknown as Omit<Restated, 'period'>) });
  }
  return found;
}

export function restatedSums(rows: readonly Restated[]): ClosedMonth['restated'] {
  const keyOf = ({ period, partner_id, currency_code }: Restated) =>
    JSON.stringify([period, partner_id, currency_code]);
  return [...Map.groupBy(rows, keyOf).values()].flatMap((of) =>
    of.slice(0, 1).map(({ period, partner_id, currency_code }) => ({
      ...{ period, partner_id, currency_code },
      difference: sumOfAmounts(of.map(({ difference }) => difference)),
    })),
  );
}

export interface MonthWatchOptions {
  readonly dataDir: string;
  readonly databasePath: string;
  readonly alerts: Alerts;
  readonly log: Logger;
}

const EVERY_MS = 600_000;
const MAX_NAMED = 10;

/** The report of each closed month runs again only when what is published or closed has changed. */
export function closedMonthsCheck(options: MonthWatchOptions): Check {
  const { databasePath } = options;
  let known: { readonly of: string; readonly rows: readonly Restated[] } | null = null;
  const find = async (entries: readonly MonthEntry[]): Promise<readonly Restated[]> => {
    const of = `${await identityOf(databasePath).catch(() => '')} ${entries.length}`;
    if (known?.of !== of) known = { of, rows: await restatedAfterClosing(databasePath, entries, null) };
    return known.rows;
  };
  return { component: 'closed months', everyMs: EVERY_MS, run: () => checkClosedMonths(options, find) };
}

/** A closed month that changed is an alert until the next closing has the change, or until it is as it was. */
export async function checkClosedMonths(
  { dataDir, databasePath, alerts, log }: MonthWatchOptions,
  find = (entries: readonly MonthEntry[]) => restatedAfterClosing(databasePath, entries, null),
): Promise<void> {
  try {
    const entries = await readMonths(dataDir);
    const rows = await find(entries);
    for (const period of new Set(entries.map((entry) => entry.period))) {
      const of = rows.filter((row) => row.period === period);
      const key = `month-restated/${period}` as const;
      if (of.length === 0) {
        alerts.resolve(key);
        continue;
      }
      const named = of
        .slice(0, MAX_NAMED)
        .map(
          ({ invoice_number, invoice_id, cause, difference, currency_code }) =>
            `${invoice_number ?? invoice_id} (${cause}) ${difference} ${currency_code}`,
        );
      const rest = of.length > MAX_NAMED ? `, and ${of.length - MAX_NAMED} more` : '';
      alerts.raise({
        key,
        title: `${period} changed after it was closed`,
        detail: `${named.join(', ')}${rest}`,
      });
    }
  } catch (error) {
    if (isReportError(error, 'not-published')) return;
    log.error({ err: error }, 'the closed months could not be checked');
    const title = 'Closed months cannot be checked';
    alerts.raise({ key: 'month-restated/unknown', title, detail: messageOf(error) });
    return;
  }
  alerts.resolve('month-restated/unknown');
}
