import {
  type ColumnType,
  moneyColumn,
  type ReportColumn,
  type ReportRow,
  reportColumn,
} from '../../reports/cells.ts';
import { cellLabel, digitsOf, instantLabel } from '../../reports/render/labels.ts';
import type { Statement } from './statement.ts';

export interface StatementTable {
  readonly title: string;
  readonly about: string;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  /** Ids and hashes, which follow everything that a reader needs. */
  readonly isReference?: true;
}

/** An amount has as many decimals as its currency, or more where the amount needs them. */
export function withOwnScale(column: ReportColumn, row: ReportRow): ReportColumn {
  if (column.unit !== 'money') return column;
  const [, decimals = ''] = String(row[column.name] ?? '').split('.');
  const used = decimals.replace(/0+$/, '').length;
  return { ...column, scale: Math.max(used, digitsOf(String(row.currency_code))) };
}

export function cellText(row: ReportRow, column: ReportColumn): string {
  const cell = row[column.name] ?? null;
  if (column.unit !== 'money' || cell === null) return cellLabel(cell, column);
  const [whole = '', decimals = ''] = String(cell).split('.');
  const { scale } = withOwnScale(column, row);
  return cellLabel(scale === 0 ? whole : `${whole}.${decimals.slice(0, scale).padEnd(scale, '0')}`, column);
}

export function headOf(statement: Statement): readonly (readonly [string, string])[] {
  const { tenant, period, by, sent_at, head } = statement;
  const { number, replaces = null, accepted_incomplete: accepted = null } = statement;
  const { due_on: dueOn = null, due_days: dueDays = null } = head ?? {};
  return [
    ['Tenant', tenant],
    ['Period', `${period}, by ${by.replace('-', ' ')}`],
    [
      'State',
      sent_at === null ? 'draft: it may still change' : `${numbered(number)}sent, ${instantLabel(sent_at)}`,
    ],
    ...(replaces === null
      ? []
      : [
          [
            'Replaces',
            `${numbered(replaces.number)}sent, ${instantLabel(replaces.sent_at ?? '')}, which no longer counts: ${replaces.reason}`,
          ] as const,
        ]),
    ...(accepted === null
      ? []
      : [['Incomplete', `sent without invoices that are listed below: ${accepted}`] as const]),
    ...(dueDays === null ? [] : [['Due', dueOn ?? `${dueDays} days after it is sent`] as const]),
  ];
}

/** The table of the last page: what identifies the statement and what it was made of. */
export function referencesOf(
  statement: Statement,
  attached = 'attached as CSV with',
): readonly (readonly [string, string])[] {
  const { tenant_id, partner_id, publication, published_at } = statement;
  return [
    ...(tenant_id === null ? [] : [['Tenant id', tenant_id] as const]),
    ...(partner_id === null ? [] : [['Partner', partner_id] as const]),
    ['Made of', `publication ${publication} of ${instantLabel(published_at)}`],
    ['Shipments', attachedAs(statement, attached)],
  ];
}

function numbered(number: number | null | undefined): string {
  return number === null || number === undefined ? '' : `statement ${number}, `;
}

/** Empty tables are left out; totals always come first. */
export function tablesOf(statement: Statement): readonly StatementTable[] {
  const { totals, billed, corrections, mark_up: markUp, invoices, left_out: leftOut } = statement;
  const cells = (title: string, kind: string, about = ''): StatementTable =>
    table(title, { about, columns: CELL, rows: billed.filter((cell) => cell.kind === kind) });
  const all: readonly StatementTable[] = [
    table('Total', {
      about: totals.length === 0 ? 'Nothing was billed in this month, and nothing is to be corrected.' : '',
      ...{ columns: TOTAL, rows: totals },
    }),
    cells('Charges', 'charge'),
    cells('Billed again', 'billed again', 'Lines of shipments that were on an invoice that is void now.'),
    cells('Credits', 'credit'),
    table('Corrections of earlier statements', {
      about: 'What was stated about these invoices before, and what is billed now.',
      ...{ columns: CORRECTION, rows: corrections },
    }),
    table('Mark-up over own costs', {
      about: 'As in the report margin. It is part of what is billed and changes no total.',
      ...{ columns: MARK_UP, rows: markUp ?? [] },
    }),
    table('Proof', { about: 'The invoices, and what proved their files.', columns: PROOF, rows: invoices }),
    table('Not in this statement', {
      about: 'Invoices of this month that no total has.',
      ...{ columns: LEFT_OUT, rows: leftOut },
    }),
    { ...table('Files', { about: '', columns: FILES, rows: invoices }), isReference: true },
  ];
  return all.filter(({ title, rows, isReference }) => title === 'Total' || isReference || rows.length > 0);
}

function attachedAs({ shipments }: Statement, attached: string): string {
  if (shipments === null) return 'not attached';
  const lines = shipments.lines === 1 ? '1 line' : `${shipments.lines} lines`;
  return `${lines}, ${attached} the SHA-256 ${shipments.sha256}`;
}

function table(
  title: string,
  { about, columns, rows }: { about: string; columns: readonly ReportColumn[]; rows: readonly object[] },
): StatementTable {
  return { title, about, columns, rows: rows as readonly ReportRow[] };
}

function column(name: string, type: ColumnType = 'text', label?: string): ReportColumn {
  return reportColumn(name, type, label === undefined ? {} : { label });
}

const currency = column('currency_code', 'text', 'Currency');
const invoice = column('invoice_number', 'text', 'Invoice');
const lines = column('lines', 'count');
const money = (name: string, label?: string): ReportColumn =>
  moneyColumn(name, label === undefined ? {} : { label });

const TOTAL = [
  ...[currency, lines, money('charges'), money('billed_again'), money('credits'), money('billed')],
  ...[money('corrections'), money('total')],
];
const CELL = [
  ...[column('carrier'), column('service_level', 'text', 'Service'), column('zone'), currency, lines],
  ...[column('packages', 'count'), money('amount')],
];
const CORRECTION = [
  ...[column('period'), invoice, column('reason'), currency, money('previous'), money('current')],
  money('difference'),
];
const MARK_UP = [
  ...[column('carrier'), currency, column('tracking_numbers', 'count', 'Numbers')],
  column('covered_numbers', 'count', 'With a cost'),
  ...[money('billing_cost', 'Billed'), money('covered_cost', 'Billed, with a cost'), money('own_cost')],
  ...[money('margin', 'Mark-up'), column('margin_percent', 'decimal', 'Mark-up (%)')],
];
const PROOF = [
  ...[invoice, currency, lines, money('amount'), column('proved_by')],
  column('loaded_at', 'instant', 'Loaded'),
];
const FILES = [
  ...[invoice, column('invoice_id', 'text', 'Id'), column('file_sha256', 'text', 'SHA-256 of the file')],
];
const LEFT_OUT = [...[invoice, column('state')], ...[currency, money('stated_total', 'Stated total')]];
