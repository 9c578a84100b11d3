import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from '../../lib/files/files.ts';
import { type ReportColumn, type ReportRow, reportColumn } from '../../reports/cells.ts';
import { renderCsv } from '../../reports/render/csv-text.ts';
import { XLSX_TYPE } from '../../reports/render/render-report.ts';
import type { MadeStatement } from './make-statements.ts';
import { shortKey } from './sent-statements.ts';
import type { PaperSize, Statement } from './statement.ts';
import { headOf } from './statement-tables.ts';

export const STATEMENT_FORMATS = ['pdf', 'xlsx', 'csv'] as const;
export type StatementFormat = (typeof STATEMENT_FORMATS)[number];

export interface StatementFile {
  readonly name: string;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

const CSV = 'text/csv; charset=utf-8';

/** The statement comes first, then the CSV of shipments where the format has no place for them. */
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
      : [{ name: `${name}-shipments.csv`, contentType: CSV, body: renderCsv(shipments) }];
  if (format === 'pdf') {
    const { statementPdf } = await import('./render-pdf.ts');
    const body = await statementPdf(statement, paper);
    return [{ name: `${name}.pdf`, contentType: 'application/pdf', body }, ...lines];
  }
  return [{ name: `${name}.csv`, contentType: CSV, body: statementCsv(statement) }, ...lines];
}

/** `statement-2026-10-acme-1a2b3c4d`, in the letters of the tenant's name: part of the id, since two tenants may have one name. */
function fileName(statement: Statement): string {
  const { tenant, period, sent_at } = statement;
  // Marks of Latin letters are left out; in other scripts they are part of the word.
  const plain = tenant
    .normalize('NFKD')
    .replace(/(?<=\p{Script=Latin})\p{M}+/gu, '')
    .normalize('NFC')
    .toLowerCase();
  const words = plain.replace(/[^\p{L}\p{M}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
  const slug = [...words].slice(0, 40).join('').replace(/-$/, '');
  const parts = ['statement', period, slug, shortKey(statement).slice(0, 8), sent_at === null ? 'draft' : ''];
  return parts.filter((part) => part !== '').join('-');
}

export function statementCsv(statement: Statement): string {
  return renderCsv({ columns: COLUMNS, rows: rowsOf(statement) });
}

function rowsOf(statement: Statement): readonly ReportRow[] {
  const { tenant, tenant_id, partner_id, period, by, sent_at } = statement;
  const { totals, billed, corrections, invoices, left_out: leftOut, mark_up: markUp } = statement;
  const rows: ReportRow[] = [
    ...billed.map(({ kind, ...cell }) => ({ section: kind, ...cell })),
    ...corrections.map(({ difference, reason, period: of, previous, current, ...each }) => ({
      ...{ section: 'correction', ...each, amount: difference },
      detail: `${of}: ${reason}; previously ${previous}, now ${current}`,
    })),
    ...totals.flatMap(({ currency_code, lines, ...amounts }) =>
      Object.entries(amounts).map(([name, amount]) => ({
        ...{ section: 'total', currency_code, amount, detail: name.replaceAll('_', ' ') },
        lines: name === 'billed' ? lines : null,
      })),
    ),
    ...(markUp ?? []).map((each) => ({
      ...{ section: 'mark-up', carrier: each.carrier, currency_code: each.currency_code },
      packages: each.covered_numbers,
      ...{ amount: each.margin, detail: `billed ${each.covered_cost}, own cost ${each.own_cost}` },
    })),
    ...invoices.map(({ proved_by, loaded_at, ...each }) => ({
      ...{ section: 'invoice', ...each, detail: `proved by ${proved_by}; loaded ${loaded_at}` },
    })),
    ...leftOut.map(({ state, is_void: _, stated_total, ...each }) => ({
      ...{ section: 'not counted', ...each, amount: stated_total, detail: state },
    })),
    ...headOf(statement)
      .filter(([label]) => label === 'Replaces' || label === 'Incomplete')
      .map(([label, value]) => ({ section: label.toLowerCase(), detail: value })),
    ...statement.limits.map((detail) => ({ section: 'limit', detail })),
  ];
  const each = { tenant, tenant_id, partner_id, period, by, sent_at };
  return rows.map((row) => ({ ...each, ...row }));
}

const COLUMNS: readonly ReportColumn[] = [
  ...['tenant', 'tenant_id', 'partner_id', 'period', 'by', 'sent_at'].map((name) => reportColumn(name)),
  ...['section', 'carrier', 'service_level', 'zone'].map((name) => reportColumn(name)),
  ...['invoice_number', 'invoice_id', 'currency_code'].map((name) => reportColumn(name)),
  ...['lines', 'packages'].map((name) => reportColumn(name, 'count')),
  ...[reportColumn('amount', 'decimal'), reportColumn('detail'), reportColumn('file_sha256')],
];

/** Replaces files of the same names. @throws the system's error */
export async function writeFiles(
  folder: string,
  files: readonly StatementFile[],
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const paths: string[] = [];
  for (const { name, body } of files) {
    const path = join(folder, name);
    await writeWhole(path, body);
    paths.push(path);
  }
  return paths;
}
