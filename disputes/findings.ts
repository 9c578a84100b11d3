/** From rows of audit reports to the lines that can be claimed, each with what it should have cost. */

import { fromTenThousandths, toTenThousandths } from '../contract/decimal.js';
import { parseReport, type ReportDefinition } from '../reports/catalogue.js';
import { ReportFilterError } from '../reports/errors.js';
import { expectMatches } from '../reports/match-filters.js';
import type { ReportRow } from '../reports/report-result.js';
import { openReportSession, type ReportSession, type SessionRequest } from '../reports/report-session.js';
import { statementText } from '../reports/statement-text.js';
import type { ClaimedLine } from './claim.js';
import { FINDINGS, type Finding, type FindingName, NAMED, rowKey } from './finding-kinds.js';

export interface FindRequest extends SessionRequest {
  readonly finding: FindingName;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Rows by `rowKey`; null: all of them. */
  readonly rows: ReadonlySet<string> | null;
  /** Only lines of these numbers; null: all. `shipments` needs them. */
  readonly trackingNumbers: readonly string[] | null;
  /** Instead of the usual words; at most one line. */
  readonly reason?: string | undefined;
}

/** A line that can be claimed; `creditedBefore` is looked up when it is. */
export type FoundLine = Omit<ClaimedLine, 'creditedBefore'>;

/**
 * In the order of currency, then what is claimed, highest first. Each line once, whatever rows it is of.
 *
 * @throws what `runReport` throws; ReportFilterError a filter matched nothing, or no number was named
 */
export async function findLines(request: FindRequest): Promise<readonly FoundLine[]> {
  const { finding, parameters = {}, trackingNumbers } = request;
  const session = await openReportSession(request);
  try {
    const claimed =
      finding === NAMED
        ? await ask(session, NAMED, numbersAsRows(trackingNumbers))
        : await claimedOf(session, { ...request, finding, parameters });
    const amounts = new Map(claimed.map((row) => [lineOf(row), String(row.claimed)]));
    const lines = await ask(
      session,
      'lines',
      claimed.map(({ invoice_id = null, row_number = null }) => ({ invoice_id, row_number })),
    );
    return lines
      .map((row) => foundLine(row, { request, claimed: amounts.get(lineOf(row)) ?? '0' }))
      .filter(({ claimed }) => toTenThousandths(claimed) > 0n)
      .filter((line) => trackingNumbers?.includes(line.trackingNumber) ?? true)
      .sort(byAmount);
  } finally {
    session.close();
  }
}

async function claimedOf(
  session: ReportSession,
  {
    finding,
    parameters,
    rows: wanted,
  }: FindRequest & {
    readonly finding: keyof typeof FINDINGS;
    readonly parameters: Readonly<Record<string, string>>;
  },
): Promise<readonly ReportRow[]> {
  const { claimed, keys }: Finding = FINDINGS[finding];
  const result = await session.run(finding, parameters);
  expectMatches(result.head.matches);
  const rows = result.rows.filter((row) => wanted?.has(rowKey(finding, row) ?? '') ?? true);
  if (claimed !== null) return rows.map((row) => ({ ...row, claimed: claimed(row) }));
  const chosen = rows.map((row) => Object.fromEntries(keys.map((name) => [name, row[name] ?? null])));
  return ask(session, finding, chosen, parameters);
}

function numbersAsRows(numbers: readonly string[] | null): readonly ReportRow[] {
  if (numbers === null || numbers.length === 0)
    throw new ReportFilterError('tracking', 'Name the tracking numbers whose charges are claimed.');
  return numbers.map((tracking_number) => ({ tracking_number }));
}

/** A statement of `sql/`, which is written as reports are and so has all that reports have: filters, levels, partners. */
async function ask(
  session: ReportSession,
  name: string,
  rows: readonly ReportRow[],
  parameters: Readonly<Record<string, string>> = {},
): Promise<readonly ReportRow[]> {
  const question = await questionNamed(name);
  const own = Object.entries(parameters).filter(([key]) =>
    question.parameters.some((known) => known.name === key),
  );
  return (await session.run(question, { ...Object.fromEntries(own), rows: JSON.stringify(rows) })).rows;
}

async function questionNamed(name: string): Promise<ReportDefinition> {
  return parseReport(name, await statementText(new URL(`./sql/${name}.sql`, import.meta.url)));
}

function lineOf({ invoice_id, row_number }: ReportRow): string {
  return `${invoice_id}:${row_number}`;
}

function foundLine(
  row: ReportRow,
  { request, claimed }: { readonly request: FindRequest; readonly claimed: string },
): FoundLine {
  const { finding } = request;
  const textOf = (name: string): string | null =>
    row[name] === null || row[name] === undefined ? null : String(row[name]);
  const billed = toTenThousandths(String(row.billing_cost));
  const usual = finding === NAMED ? 'Should not have been charged' : FINDINGS[finding].reason;
  return {
    finding,
    partnerId: textOf('partner_id'),
    invoiceLevel: String(row.invoice_level),
    invoiceId: String(row.invoice_id),
    invoiceNumber: textOf('invoice_number'),
    rowNumber: Number(row.row_number),
    tenant: textOf('tenant'),
    carrier: String(row.carrier),
    trackingNumber: String(row.tracking_number),
    currencyCode: String(row.currency_code),
    shipDate: textOf('ship_date'),
    carrierInvoiceDate: textOf('carrier_invoice_date'),
    invoiceDate: textOf('invoice_date'),
    billed: fromTenThousandths(billed),
    expected: fromTenThousandths(billed - toTenThousandths(claimed)),
    claimed: fromTenThousandths(toTenThousandths(claimed)),
    reason: request.reason ?? usual,
  };
}

function byAmount(one: FoundLine, other: FoundLine): number {
  if (one.currencyCode !== other.currencyCode) return one.currencyCode < other.currencyCode ? -1 : 1;
  const [a, b] = [toTenThousandths(one.claimed), toTenThousandths(other.claimed)];
  if (a !== b) return a > b ? -1 : 1;
  return one.trackingNumber < other.trackingNumber ? -1 : 1;
}
