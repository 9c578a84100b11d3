import { fromTenThousandths, toTenThousandths } from '../../lib/decimal.ts';
import { parsePeriod } from '../../reports/period.ts';
import type { DateBasis } from '../../reports/report-filters.ts';
import { type MadeStatement, makeStatements, type StatementSources } from './make-statements.ts';
import { keyOf, type Statement, StatementError } from './statement.ts';

export const STATEMENT_STATES = ['open', 'incomplete', 'draft', 'sent', 'corrected'] as const;
export type StatementState = (typeof STATEMENT_STATES)[number];

export interface ListedStatement {
  /** The key of the statement's tenant (statement.ts). */
  readonly key: string;
  readonly statement: Statement;
  readonly state: StatementState;
  /** Why the statement is incomplete; '' when it is complete. */
  readonly why: string;
  /** For each currency that changed: the billed total of now minus the one that was sent. */
  readonly differences: readonly { readonly currency_code: string; readonly difference: string }[];
}

export interface StatementList {
  readonly listed: readonly ListedStatement[];
  /** Why some tenants are not listed; null when all are. */
  readonly problem: string | null;
}

/** The statements of a month as they were sent, or as they would be. @throws ReportError; StatementError */
export async function listStatements(
  sources: StatementSources,
  { period, by }: { readonly period: string; readonly by: DateBasis },
): Promise<StatementList> {
  const listed: ListedStatement[] = [];
  const isOpen = parsePeriod(period).to >= sources.now.toISOString().slice(0, 10);
  const request = { tenants: [], partners: [], period, by, isFinal: false, withShipments: false };
  try {
    await makeStatements(sources, request, async (made) => void listed.push(listedOf(made, isOpen)));
    return { listed, problem: null };
  } catch (error) {
    // A failure of one tenant's statement does not hide those of the others.
    if (!(error instanceof StatementError) || error.code !== 'statements-failed') throw error;
    return { listed, problem: error.message };
  }
}

function listedOf({ statement, since }: MadeStatement, isOpen: boolean): ListedStatement {
  const missing = statement.left_out.filter(({ is_void }) => !is_void);
  const why = missing.map(
    ({ invoice_number, invoice_id, state }) => `${invoice_number ?? invoice_id}: ${state}`,
  );
  const unsent = isOpen ? 'open' : missing.length > 0 ? 'incomplete' : 'draft';
  const sent = since?.isCorrected === true ? 'corrected' : 'sent';
  return {
    ...{ key: keyOf(statement), statement, state: since === undefined ? unsent : sent },
    why: why.join(', '),
    differences: since === undefined ? [] : differencesOf(statement.totals, since.totals),
  };
}

function differencesOf(before: Statement['totals'], now: Statement['totals']) {
  const billed = (totals: Statement['totals'], currency: string): bigint =>
    toTenThousandths(totals.find(({ currency_code }) => currency_code === currency)?.billed ?? '0');
  return [...new Set([...before, ...now].map(({ currency_code }) => currency_code))].flatMap(
    (currency_code) => {
      const difference = billed(now, currency_code) - billed(before, currency_code);
      return difference === 0n ? [] : [{ currency_code, difference: fromTenThousandths(difference) }];
    },
  );
}
