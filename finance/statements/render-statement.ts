/** A statement as the files that are handed out, in the format that was asked for. */

import { XLSX_TYPE } from '../../reports/render/render-report.ts';
import type { MadeStatement } from './make-statements.ts';
import type { PaperSize } from './paper-sizes.ts';
import { shortKey } from './sent-statements.ts';
import { shipmentsCsv } from './shipment-lines.ts';
import type { Statement } from './statement.ts';

export const STATEMENT_FORMATS = ['pdf', 'xlsx', 'csv'] as const;
export type StatementFormat = (typeof STATEMENT_FORMATS)[number];

export interface StatementFile {
  readonly name: string;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

const CSV = 'text/csv; charset=utf-8';

/** The statement first; where it has no room for the shipments, their CSV beside it. */
export async function renderStatement(
  { statement, shipments }: MadeStatement,
  format: StatementFormat,
  paper: PaperSize = 'a4',
): Promise<readonly StatementFile[]> {
  const name = fileName(statement);
  if (format === 'xlsx') {
    const { statementXlsx } = await import('./render-xlsx.ts');
    return [
      {
        name: `${name}.xlsx`,
        contentType: XLSX_TYPE,
        body: await statementXlsx(statement, shipments, paper),
      },
    ];
  }
  const lines =
    shipments === null
      ? []
      : [{ name: `${name}-shipments.csv`, contentType: CSV, body: shipmentsCsv(shipments) }];
  if (format === 'pdf') {
    const { statementPdf } = await import('./render-pdf.ts');
    const body = await statementPdf(statement, paper);
    return [{ name: `${name}.pdf`, contentType: 'application/pdf', body }, ...lines];
  }
  const { statementCsv } = await import('./render-csv.ts');
  return [{ name: `${name}.csv`, contentType: CSV, body: statementCsv(statement) }, ...lines];
}

/** `statement-2026-10-acme-1a2b3c4d`: a name for people, and letters of the id, since two may be called alike. */
function fileName(statement: Statement): string {
  const { tenant, period, sent_at } = statement;
  const plain = tenant.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40)
    .replace(/-$/, '');
  const parts = ['statement', period, slug, shortKey(statement).slice(0, 8), sent_at === null ? 'draft' : ''];
  return parts.filter((part) => part !== '').join('-');
}
