/** What is known of one invoice, for commands, pages and alerts alike. */

import type { DuckDBValue } from '@duckdb/node-api';
import { statementsIn } from '../../lib/sql-file.ts';
import type { ReportRow } from '../cells.ts';
import type { PublishedFile } from '../open-published-file.ts';
import { readStatement } from '../report-result.ts';
import type { InvoiceHistory } from './timeline.ts';

const QUESTIONS = new URL('./questions.sql', import.meta.url);

/** Decimals are exact text, counts numbers, instants ISO 8601 UTC. Values are bound by name. */
export type RunStatement = (
  name: string,
  values?: Readonly<Record<string, DuckDBValue>>,
) => Promise<readonly ReportRow[]>;

/** @param own statements of the caller, beside those of questions.sql */
export function statementsOn(file: Pick<PublishedFile, 'query'>, own: URL): RunStatement {
  return async (name, values) => {
    const statements = statementsIn(QUESTIONS).has(name) ? QUESTIONS : own;
    return (await readStatement(file, { statements, name, values })).rows;
  };
}

/** @param invoice its id, in lower case */
export async function invoiceHistory(run: RunStatement, invoice: string): Promise<InvoiceHistory> {
  return {
    events: await run('invoice-events', { invoice }),
    records: await run('invoice-records', { invoice }),
    files: await run('invoice-files', { invoice }),
    discrepancies: await run('invoice-discrepancies', { invoice }),
  };
}

const DIFFERENCES: Readonly<Record<string, string>> = {
  'total-amount': 'the total',
  'shipment-count': 'the number of lines',
  currency: 'the currency',
  period: 'the billing period',
  'announced-hash': 'the file that was announced',
  'announced-size': 'the size that was announced',
};

/** In what a file differs from its header, in words. @param rules of the column `discrepancy_rules` */
export function differencesOf(rules: unknown): readonly string[] {
  const named = String(rules ?? '').split(', ');
  return named.filter(Boolean).map((rule) => DIFFERENCES[rule] ?? rule.replaceAll('-', ' '));
}
