import { messageOf } from '../../lib/system-errors.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { isReportError } from '../../reports/errors.ts';
import { type Period, parsePeriod, shiftDay } from '../../reports/period.ts';
import type { DateBasis } from '../../reports/report-filters.ts';
import { runReport } from '../../reports/report-session.ts';
import { type BilledSession, openBilledSession } from './billed.ts';
import { type Billed, composeStatement } from './compose.ts';
import { nextNumber, openSentStatements, type SentStatements, withoutReplaced } from './sent-statements.ts';
import {
  type CurrencyTotal,
  keyOf,
  type LeftOut,
  leftOut,
  namedLines,
  orNull,
  type ShipmentLines,
  type Statement,
  StatementError,
  type StatementTenant,
  statementRefused,
  tenantOf,
} from './statement.ts';
import { statementHeads } from './statement-heads.ts';

export interface StatementsRequest {
  /** The tenants by id or name; an empty list means all that have something to report. */
  readonly tenants: readonly string[];
  readonly partners: readonly string[];
  /** The month, as `YYYY-MM`. */
  readonly period: string;
  readonly by?: DateBasis | undefined;
  readonly costs?: string | undefined;
  /** With true, the statement is kept, and the next one corrects it. */
  readonly isFinal: boolean;
  /** With true, a final statement is checked and composed, but not kept. */
  readonly isDryRun?: boolean;
  /** The reason to send statements although known invoices of the month do not count; null sends none of these. */
  readonly acceptIncomplete?: string | null;
  /** The reason to replace the statement that was sent for the month; null replaces none. */
  readonly replaceSent?: string | null;
  readonly withShipments: boolean;
  /** Keys of the only tenants that are wanted; undefined means all that `tenants` names. */
  readonly only?: ReadonlySet<string> | undefined;
}

export interface StatementSources {
  readonly databasePath: string;
  readonly dataDir: string;
  /** Time limit for all statements together. */
  readonly timeLimitMs: number;
  readonly now: Date;
  /** A session of the caller, who closes it; undefined opens one. */
  readonly session?: BilledSession;
}

export interface MadeStatement {
  readonly statement: Statement;
  readonly shipments: ShipmentLines | null;
  /** `sent before`: the statement as it was sent. */
  readonly state: 'draft' | 'sent now' | 'sent before';
  /** Set only with `sent before`: what the month has now, and whether a later statement corrects it. */
  readonly since?: { readonly totals: readonly CurrencyTotal[]; readonly isCorrected: boolean };
}

/** Returns `YYYY-MM`. @throws StatementError the period is not one month; ReportError it is no period */
export function statementMonth(text = 'last-month', now = new Date()): string {
  const { from, to } = parsePeriod(text, now);
  const month = from.slice(0, 7);
  if (from.endsWith('-01') && to.startsWith(month) && shiftDay(to, 1).endsWith('-01')) return month;
  throw statementRefused(
    `A statement covers one month, and "${text}" does not.`,
    'write it as 2026-10 or last-month',
  );
}

/** A statement with more lines is refused, because its lines are held in memory. */
export const MAX_LINES = 250_000;

/**
 * Returns the number of statements. `deliver` receives a sent statement after it was stored durably. @throws StatementError
 * statements-failed: the others were delivered; and as reports
 */
export async function makeStatements(
  sources: StatementSources,
  request: StatementsRequest,
  deliver: (made: MadeStatement) => Promise<void>,
): Promise<number> {
  const days = parsePeriod(request.period);
  const today = sources.now.toISOString().slice(0, 10);
  if (request.isFinal && days.to >= today)
    throw statementRefused(
      `${request.period} is not over: its last day is ${days.to}, and today is ${today} (UTC)`,
      'leave out --final for a draft',
    );
  const { session, markUp } =
    sources.session === undefined
      ? await openWithMarkUp(sources, request, days)
      : { session: sources.session, markUp: null };
  try {
    const sent = await openSentStatements(sources.dataDir);
    const headFor = await statementHeads(sources.dataDir);
    const own = { sources, request, days, session, sent, markUp, headFor };
    const making = { ...own, rowsOf: rowsBetween(session) };
    const cells = await session.read('billed', days);
    const known = await session.tenants();
    const present = new Set([...known, ...cells].map((row) => keyOf(tenantOf(row))));
    const tenants = new Map<string, StatementTenant>();
    for (const row of [...known.filter((each) => each.is_chosen === true), ...cells])
      tenants.set(keyOf(tenantOf(row)), tenantOf(row));
    const hasPartners = known.some((row) => orNull(row.partner_id) !== null);
    const unowned = [...tenants.values()].find(({ partner_id }) => partner_id === null);
    if (request.isFinal && hasPartners && unowned !== undefined) throw withoutPartner(unowned);
    const isEach = request.tenants.length === 0;
    const isAll = isEach && request.only === undefined;
    if (!isEach && tenants.size > request.tenants.length)
      throw ambiguous(request.tenants, [...tenants.values()]);
    let count = 0;
    const failed: { tenant: string; error: unknown }[] = [];
    for (const tenant of tenants.values()) {
      if (request.only?.has(keyOf(tenant)) === false) continue;
      try {
        const made = await makeOne({ ...making, cells, present }, tenant, isEach);
        if (made === null) continue;
        await deliver(made);
        count += 1;
      } catch (error) {
        if (tenants.size === 1 || isReportError(error, 'interrupted')) throw error;
        failed.push({ tenant: tenant.tenant, error });
      }
    }
    if (isAll && request.isFinal && (request.acceptIncomplete ?? null) === null)
      failed.push(...(await missingOfNobody(session, days, present)));
    // The month is recorded before a failure is reported: from it on, later statements correct those that are missing.
    if (isAll && request.isFinal && request.isDryRun !== true) await sent.recordAllTenants(request.period);
    if (failed.length > 0) {
      const named = failed.map(({ tenant, error }) => `${tenant} (${messageOf(error).split('\n', 1)[0]})`);
      throw new StatementError('statements-failed', [named.join(', '), count, count + failed.length], {
        cause: failed[0]?.error,
      });
    }
    return count;
  } finally {
    if (session !== sources.session) session.close();
  }
}

function ambiguous(given: readonly string[], tenants: readonly StatementTenant[]): StatementError {
  const names = tenants.map(({ tenant, tenant_id: id, partner_id: partner }) =>
    [
      tenant,
      id === null || tenant.includes(id) ? '' : ` (${id})`,
      partner === null ? '' : ` of ${partner}`,
    ].join(''),
  );
  return statementRefused(
    `"${given.join('", "')}" is ${tenants.length} tenants: ${names.join(', ')}`,
    'name one by its id, or its partner',
  );
}

/** Several partners are known, so a later record may give the invoices to one whose statement has them too. */
function withoutPartner({ tenant }: StatementTenant): StatementError {
  return statementRefused(
    `The partner of invoices of ${tenant} is not known, so no statement with them can be sent`,
    'name the partner (--partner), or let billsync ask the service: `billsync backfill` with their ids',
  );
}

interface Making {
  readonly sources: StatementSources;
  readonly request: StatementsRequest;
  readonly days: Period;
  readonly session: BilledSession;
  readonly sent: SentStatements;
  readonly markUp: readonly ReportRow[] | null;
  readonly headFor: Awaited<ReturnType<typeof statementHeads>>;
  readonly rowsOf: ReturnType<typeof rowsBetween>;
  readonly cells: readonly ReportRow[];
  /** The keys of all tenants of the publication. */
  readonly present: ReadonlySet<string>;
}

/** Returns null when the statement would be empty and the tenant was not named. */
async function makeOne(
  making: Making,
  tenant: StatementTenant,
  isAll: boolean,
): Promise<MadeStatement | null> {
  const { request, sources, sent } = making;
  for (;;) {
    const all = await sent.of(tenant, making.present);
    const before = withoutReplaced(all);
    refuseOtherDate(before, making.session.by, tenant);
    const found = before.find(({ period }) => period === request.period);
    const { replaceSent = null, acceptIncomplete = null } = request;
    if (found !== undefined && replaceSent === null) {
      const { totals } = await compose(making, tenant, []);
      const isCorrected =
        (found.replaces ?? null) !== null ||
        all.some(({ corrections }) => corrections.some(({ period }) => period === request.period));
      const shipments = request.withShipments ? await sent.shipmentsOf(found) : null;
      return { statement: found, shipments, state: 'sent before', since: { totals, isCorrected } };
    }
    if (found === undefined && replaceSent !== null && !isAll)
      throw statementRefused(
        `No statement of ${request.period} was sent to ${tenant.tenant}`,
        'leave out --replace',
      );
    const others = before.filter((each) => each !== found);
    const composed = await compose(making, tenant, others);
    const { billed, corrections, left_out } = composed;
    if (isAll && [billed, corrections, left_out].every((rows) => rows.length === 0)) return null;
    const missing = left_out.filter(({ is_void }) => !is_void);
    if (request.isFinal && missing.length > 0 && acceptIncomplete === null) throw incomplete(missing);
    const shipments = request.withShipments ? await linesOf(making, tenant) : null;
    const sentAt = request.isFinal ? sources.now.toISOString() : null;
    const statement: Statement = {
      ...composed,
      head: making.headFor(tenant, sentAt),
      shipments: shipments === null ? null : namedLines(shipments),
      sent_at: sentAt,
      number: request.isFinal ? nextNumber(all, tenant) : null,
      accepted_incomplete: missing.length > 0 && request.isFinal ? acceptIncomplete : null,
      replaces:
        found === undefined
          ? null
          : { number: found.number, sent_at: found.sent_at, reason: replaceSent ?? '' },
    };
    if (!request.isFinal || request.isDryRun === true) return { statement, shipments, state: 'draft' };
    if (await sent.keep(statement, shipments, all)) return { statement, shipments, state: 'sent now' };
  }
}

/** Invoices of the month that do not count and whose tenant is not known: a statement may lack them. */
async function missingOfNobody(
  session: BilledSession,
  days: Period,
  present: ReadonlySet<string>,
): Promise<{ tenant: string; error: unknown }[]> {
  const rows = await session.read('not-counted', days);
  const missing = rows
    .filter((row) => !present.has(keyOf(tenantOf(row))))
    .map(leftOut)
    .filter(({ is_void }) => !is_void);
  return missing.length === 0 ? [] : [{ tenant: 'an unknown tenant', error: incomplete(missing) }];
}

function incomplete(missing: readonly LeftOut[]): StatementError {
  const named = missing.map(
    ({ invoice_number, invoice_id, state }) => `${invoice_number ?? invoice_id}: ${state}`,
  );
  return new StatementError('statement-incomplete', [named.join(', ')]);
}

/** Corrections compare months, so all statements of a tenant must put invoices into months by the same date. */
function refuseOtherDate(before: readonly Statement[], by: DateBasis, { tenant }: StatementTenant): void {
  const other = before.find((statement) => statement.by !== by);
  if (other === undefined) return;
  throw statementRefused(
    `The statements sent to ${tenant} are by ${other.by.replace('-', ' ')} since ${before[0]?.period}, so that one by ${by.replace('-', ' ')} would bill lines twice or not at all`,
    `use --by ${other.by}`,
  );
}

async function compose(
  { request, session, sent, rowsOf, cells, markUp, days }: Making,
  tenant: StatementTenant,
  before: readonly Statement[],
): Promise<Statement> {
  const { period } = request;
  const stated = [...before.map((each) => each.period), ...(await sent.allTenantsMonths())];
  const [since = period] = [...stated, period].sort();
  const last = [...stated, period].sort().at(-1) ?? period;
  const { invoices, notCounted } = await rowsOf({
    from: parsePeriod(since).from,
    to: last === period ? days.to : parsePeriod(last).to,
  });
  const { publication, publishedAt, by } = session;
  const billed = { publication, publishedAt, cells, invoices, notCounted };
  return composeStatement(billed, { tenant, period, by, sent: before, stated, since, markUp });
}

async function linesOf({ session, days }: Making, tenant: StatementTenant): Promise<ShipmentLines> {
  const lines = await session.shipments(tenant, days, MAX_LINES + 1);
  if (lines.rows.length <= MAX_LINES) return lines;
  throw statementRefused(
    `${tenant.tenant} has more than ${MAX_LINES} lines in that month`,
    'add --no-shipments, and take the lines from `billsync export`',
  );
}

function rowsBetween(session: BilledSession) {
  const known = new Map<string, Pick<Billed, 'invoices' | 'notCounted'>>();
  return async (days: Period) => {
    const key = `${days.from} ${days.to}`;
    const found = known.get(key) ?? {
      invoices: await session.read('invoices', days),
      notCounted: await session.read('not-counted', days),
    };
    known.set(key, found);
    return found;
  };
}

/** Repeats until both sessions read the same publication. */
async function openWithMarkUp(sources: StatementSources, request: StatementsRequest, days: Period) {
  const { databasePath, timeLimitMs } = sources;
  const { tenants, partners, by, costs } = request;
  for (;;) {
    // A partner-level invoice only sums the invoices of its tenants.
    const level = 'tenant';
    const session = await openBilledSession({ databasePath, timeLimitMs, tenants, partners, by, level });
    if (costs === undefined) return { session, markUp: null };
    try {
      // The report is made for all tenants, since the cost of a number that several were billed for is divided among them.
      const filters = { ...days, by: session.by, level: 'tenant', partners };
      const names = { databasePath, timeLimitMs, name: 'margin', filters, tables: { costs } };
      const { head, rows } = await runReport(names);
      if (head.publication === session.publication) return { session, markUp: rows };
    } catch (error) {
      session.close();
      throw error;
    }
    session.close();
  }
}
