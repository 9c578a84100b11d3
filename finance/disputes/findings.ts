import type { z } from 'zod';
import { fromTenThousandths, sumOfAmounts, toTenThousandths } from '../../lib/decimal.ts';
import { statementIn } from '../../lib/sql-file.ts';
import { findReport, parseReport, type ReportDefinition } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { invalidFilter } from '../../reports/errors.ts';
import { requireMatches } from '../../reports/match-filters.ts';
import { openReportSession, type ReportSession, type SessionRequest } from '../../reports/report-session.ts';
import { ClaimedLine, isUndecided, lineKey, NOTHING, numberKey, placeKey } from './claim.ts';
import type { ClaimWithStatus } from './claim-status.ts';
import { FINDINGS, type Finding, type FindingName, NAMED } from './finding-kinds.ts';
import type { Published } from './published-invoices.ts';

export interface FindRequest extends SessionRequest {
  readonly finding: FindingName;
  readonly parameters?: Readonly<Record<string, string>>;
  /** The wanted rows of the report by `rowKey`; null means all. */
  readonly rows: ReadonlySet<string> | null;
  /** The wanted tracking numbers, which the kind `shipments` needs; null means all. */
  readonly trackingNumbers: readonly string[] | null;
  readonly reason?: string | undefined;
  /** Lines with less to claim are left out. */
  readonly minimum?: string;
}

const STATEMENTS = new URL('./claim-queries.sql', import.meta.url);

/** `credited_before` is left out, because it is read when the line is claimed. */
const FoundLine = ClaimedLine.unwrap().omit({ credited_before: true }).readonly();
export type FoundLine = z.output<typeof FoundLine>;

export interface Found {
  /** The lines by currency and then by claimed amount, the highest first; no line is there twice. */
  readonly lines: readonly FoundLine[];
  readonly notes: readonly string[];
  /** Files that are not given, without which these findings cannot be made. */
  readonly missing: readonly string[];
}

/** @throws as `runReport`; ReportError a filter matched nothing, or no number was named */
export async function findLines(request: FindRequest): Promise<Found> {
  const session = await openReportSession(request);
  try {
    return await findIn(session, request);
  } finally {
    session.close();
  }
}

/** Finds lines with the session's filters. @throws as `findLines` */
export async function findIn(
  session: ReportSession,
  request: Omit<FindRequest, keyof SessionRequest>,
): Promise<Found> {
  const { finding, trackingNumbers } = request;
  const { minimum = '0' } = request;
  const least = toTenThousandths(minimum);
  const notes = new Set<string>();
  const missing = new Set<string>();
  const run: Run = async (question, parameters) => {
    const { rows, head, missing: absent = [] } = await session.run(question, parameters);
    requireMatches(head.matches);
    // A statement of `claim-queries.sql` reads files of other findings too, and would report them as missing.
    if (typeof question === 'string') {
      for (const note of head.notes) notes.add(note);
      for (const sentence of absent) missing.add(sentence);
    } else if (head.rows < head.found) notes.add(`${head.rows} of ${head.found} lines: cut at the limit.`);
    return typeof question === 'string' && absent.length > 0 ? [] : rows;
  };
  const claimed =
    finding === NAMED
      ? await run(claimQuery(NAMED), { rows: JSON.stringify(numbersAsRows(trackingNumbers)) })
      : await claimedOf(run, { ...request, finding });
  const amounts = new Map<string, bigint>();
  const places: ReportRow[] = [];
  for (const row of claimed) {
    const amount = toTenThousandths(String(row.claimed ?? '0'));
    if (amount <= 0n || amount < least) continue;
    amounts.set(placeKey(row), amount);
    places.push({ invoice_id: row.invoice_id ?? null, row_number: row.row_number ?? null });
  }
  const rows = places.length === 0 ? [] : await run(claimQuery('lines'), { rows: JSON.stringify(places) });
  const lines = rows
    .map((row) => ({ row, amount: amounts.get(placeKey(row)) ?? 0n }))
    .sort(byAmount)
    .map(({ row, amount }) => foundLine(row, { request, amount }));
  return { lines, notes: [...notes], missing: [...missing] };
}

/**
 * Statements of `claim-queries.sql` are written as reports, so they have the filters, levels and partners of
 * reports.
 */
type Run = (question: string | ReportDefinition, parameters: Parameters) => Promise<readonly ReportRow[]>;
type Parameters = Readonly<Record<string, string>>;

async function claimedOf(
  run: Run,
  {
    finding,
    parameters = {},
    rows: selected,
    trackingNumbers,
    minimum = '0',
  }: Omit<FindRequest, keyof SessionRequest> & { readonly finding: keyof typeof FINDINGS },
): Promise<readonly ReportRow[]> {
  const { claimed, keys }: Finding = FINDINGS[finding];
  const question = claimed === null ? claimQuery(finding) : null;
  const questionParameters = question?.parameters.map(({ name }) => name) ?? [];
  const reportParameters = findReport(finding).parameters.map(({ name }) => name);
  const rows = (
    await run(
      finding,
      takenParameters(
        parameters,
        (name) => reportParameters.includes(name) || !questionParameters.includes(name),
      ),
    )
  ).filter(
    (row) =>
      (selected?.has(rowKey(finding, row) ?? '') ?? true) &&
      (row.tracking_number === undefined || (trackingNumbers?.includes(String(row.tracking_number)) ?? true)),
  );
  if (question === null) return rows.map((row) => ({ ...row, claimed: claimed?.(row) ?? null }));
  if (rows.length === 0) return [];
  const chosen = rows.map((row) => Object.fromEntries(keys.map((name) => [name, row[name] ?? null])));
  const takesNumbers = trackingNumbers !== null && questionParameters.includes('numbers');
  return run(question, {
    ...takenParameters(parameters, (name) => questionParameters.includes(name)),
    ...{ rows: JSON.stringify(chosen), minimum },
    ...(takesNumbers ? { numbers: JSON.stringify(trackingNumbers) } : {}),
  });
}

function takenParameters(parameters: Parameters, isTaken: (name: string) => boolean): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => isTaken(name)));
}

function numbersAsRows(numbers: readonly string[] | null): readonly ReportRow[] {
  if (numbers === null || numbers.length === 0)
    throw invalidFilter('Name the tracking numbers whose charges are claimed.');
  return numbers.map((tracking_number) => ({ tracking_number }));
}

function claimQuery(name: string): ReportDefinition {
  return parseReport(name, statementIn(STATEMENTS, name));
}

function foundLine(
  row: ReportRow,
  { request, amount }: { readonly request: Pick<FindRequest, 'finding' | 'reason'>; readonly amount: bigint },
): FoundLine {
  const { finding } = request;
  const billed = toTenThousandths(String(row.billing_cost));
  const usual = finding === NAMED ? 'Should not have been charged' : FINDINGS[finding].reason;
  return FoundLine.parse({
    ...row,
    ...{ finding, partner_id: row.partner_id ?? null },
    billed: fromTenThousandths(billed),
    expected: fromTenThousandths(billed - amount),
    claimed: fromTenThousandths(amount),
    reason: request.reason ?? usual,
  });
}

interface Valued {
  readonly row: ReportRow;
  readonly amount: bigint;
}

function byAmount(one: Valued, other: Valued): number {
  const [mine, others] = [String(one.row.currency_code), String(other.row.currency_code)];
  if (mine !== others) return mine < others ? -1 : 1;
  if (one.amount !== other.amount) return one.amount > other.amount ? -1 : 1;
  return String(one.row.tracking_number) < String(other.row.tracking_number) ? -1 : 1;
}

/** The key of a row; null when no claims are made from that report. */
export function rowKey(report: string, row: ReportRow): string | null {
  if (!Object.hasOwn(FINDINGS, report)) return null;
  const { keys } = FINDINGS[report as keyof typeof FINDINGS];
  return JSON.stringify([row.partner_id ?? null, ...keys.map((name) => row[name] ?? null)]);
}

export interface Claimable extends FoundLine {
  readonly credited_before: string;
  /** The reason why the line cannot be claimed; null when it can. */
  readonly hindrance: string | null;
}

/** Returns lines that are claimed already, too, with their hindrance. */
export type FindClaimable = (
  request: Omit<FindRequest, 'databasePath'>,
) => Promise<Omit<Found, 'lines'> & { readonly lines: readonly Claimable[] }>;

export function claimableOf(
  lines: readonly FoundLine[],
  { claims, published }: { readonly claims: readonly ClaimWithStatus[]; readonly published: Published },
): readonly Claimable[] {
  const byLine = Map.groupBy(claims, lineKey);
  const byNumber = Map.groupBy(claims, numberKey);
  /** Credits of each number that no claim has, less the part that earlier lines used. */
  const unassigned = new Map<string, bigint>();

  /**
   * Duplicates are found less their credits; other findings are reduced by credits that answer no other
   * claim.
   */
  function claimedOf(line: FoundLine, ofLine: readonly ClaimWithStatus[]): string {
    if (line.finding === 'duplicates')
      return fromTenThousandths(greaterOf(toTenThousandths(line.claimed), 0n));
    const key = numberKey(line);
    const recovered = recoveredOf(byNumber.get(key) ?? []);
    const left =
      unassigned.get(key) ?? greaterOf(toTenThousandths(published.creditedOf(line)) - recovered, 0n);
    const found = toTenThousandths(line.claimed) - recoveredOf(ofLine);
    const off = left < found ? left : greaterOf(found, 0n);
    unassigned.set(key, left - off);
    return fromTenThousandths(greaterOf(found - off, 0n));
  }

  return lines.map((line) => {
    const credited_before = published.creditedOf(line);
    const ofLine = byLine.get(lineKey(line)) ?? [];
    const other = ofLine.find(isUndecided);
    if (other !== undefined)
      return { ...line, credited_before, hindrance: `it is claimed already, as ${other.id}` };
    const claimed = claimedOf(line, ofLine);
    return {
      ...{ ...line, claimed, credited_before },
      hindrance: claimed === NOTHING ? 'it was credited already' : null,
    };
  });
}

function recoveredOf(claims: readonly ClaimWithStatus[]): bigint {
  return toTenThousandths(sumOfAmounts(claims.map(({ recovered }) => recovered)));
}

function greaterOf(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
