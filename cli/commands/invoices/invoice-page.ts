/** One invoice as a person reads it: what it is, its life in order, its files, and what is wrong. */

import type { ReportCell, ReportRow } from '../../../reports/report-result.ts';
import { renderTable } from '../../terminal/render-table.ts';
import { paint, printable } from '../../terminal/terminal-text.ts';

export interface InvoicePage {
  readonly invoice: ReportRow;
  /** What its rows amount to, a row per currency. */
  readonly amounts: readonly ReportRow[];
  readonly events: readonly ReportRow[];
  /** What the service's details, billsync and persons said besides. */
  readonly words: readonly ReportRow[];
  readonly files: readonly ReportRow[];
  readonly discrepancies: readonly ReportRow[];
}

/** @returns lines for a terminal, without colours; text of the service is made printable */
export function renderInvoice(page: InvoicePage): string {
  const { invoice, amounts, files, discrepancies } = page;
  const life = lifeOf(page);
  const parts = [heading(invoice), facts(invoice, amounts), section('Life', life)];
  if (files.length > 0) parts.push(section('Files', renderTable(files, fileColumns(invoice))));
  if (discrepancies.length > 0) {
    parts.push(section('Discrepancies', renderTable(discrepancies, DISCREPANCY_COLUMNS)));
  }
  return parts.join('\n\n');
}

/** An imported invoice has no number, only an id. */
export function invoiceName({ invoice_number, invoice_id }: ReportRow): string {
  return cell(invoice_number ?? invoice_id);
}

function heading(invoice: ReportRow): string {
  const title = `Invoice ${invoiceName(invoice)}: ${cell(invoice.state)} since ${instant(invoice.state_since)}`;
  return invoice.reason === null ? paint('bold', title) : `${paint('bold', title)}\n${cell(invoice.reason)}`;
}

function facts(invoice: ReportRow, amounts: readonly ReportRow[]): string {
  const { stated_total_text: total, stated_currency_code: currency } = invoice;
  const stated = [total, currency]
    .filter((part) => part !== null && part !== undefined)
    .map(cell)
    .join(' ');
  const loaded = amounts.map((one) => `${cell(one.billing_cost)} ${cell(one.currency_code)}`).join(' and ');
  const lines: readonly (readonly [string, string])[] = [
    ['id', cell(invoice.invoice_id)],
    [
      'tenant',
      `${cell(invoice.tenant ?? invoice.partner_tenant_id ?? invoice.tenant_id)} (${cell(invoice.invoice_level)} level)`,
    ],
    ['period', `${cell(invoice.invoice_start_date)} to ${cell(invoice.invoice_end_date)}`],
    ['stated', `${stated || cell(null)}, ${cell(invoice.stated_shipments)} shipments`],
    ['loaded', `${loaded || cell(null)}, ${cell(invoice.shipments)} shipments`],
    ['proof', cell(invoice.proof)],
    ['workflow run', cell(invoice.workflow_run_id)],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(12)}  ${value}`).join('\n');
}

/** Events and our own doings in one order of time. */
function lifeOf({ invoice, events, words, files }: InvoicePage): string {
  const moments: (readonly [string, string])[] = events.map((event) => [
    instant(event.received_at),
    `${cell(event.event_type)}, ${cell(event.verdict)}${duplicates(event.duplicates)} (event ${cell(event.event_id)})`,
  ]);
  const own: readonly (readonly [ReportCell | undefined, string])[] = [
    [invoice.first_loaded_at, 'loaded'],
    // Each file, whichever of them counts now.
    ...files
      .filter(({ loaded_at }) => loaded_at !== invoice.first_loaded_at)
      .map(({ loaded_at, version }) => [loaded_at, `loaded again, version ${cell(version)}`] as const),
    [invoice.voided_at, `voided${WORDS[String(invoice.void_basis)] ?? ''}: no report counts it from here on`],
  ];
  for (const { at, who, what, detail } of words) {
    const more = detail === null || detail === undefined ? '' : ` (${cell(detail)})`;
    moments.push([instant(at), `${cell(who)}: ${cell(what)}${more}`]);
  }
  for (const [at, what] of own) if (at !== null && at !== undefined) moments.push([instant(at), what]);
  moments.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return moments.map(([at, what]) => `${at}  ${what}`).join('\n');
}

const WORDS: Readonly<Record<string, string>> = {
  event: ' by an event alone',
  details: ', as the service says itself',
  unanswered: ' by an event alone, which the service could not confirm',
  contradicted: ' by an event, which the service denies',
};

function duplicates(count: ReportCell | undefined): string {
  return Number(count) > 0 ? `, ${cell(count)} duplicate(s)` : '';
}

const fileColumns = (invoice: ReportRow) =>
  [
    { title: 'sha-256', value: (row: ReportRow) => cell(row.file_sha256).slice(0, 16) },
    { title: 'bytes', value: (row: ReportRow) => cell(row.file_size_bytes), align: 'right' },
    { title: 'from', value: (row: ReportRow) => cell(row.file_source) },
    { title: 'had at', value: (row: ReportRow) => instant(row.first_had_at) },
    { title: 'version', value: (row: ReportRow) => cell(row.version), align: 'right' },
    {
      title: 'counts',
      value: (row: ReportRow) => {
        if (row.is_current !== true) return 'no';
        return invoice.voided_at === null ? 'yes' : 'no: voided';
      },
    },
  ] as const;

const DISCREPANCY_COLUMNS = [
  { title: 'rule', value: (row: ReportRow) => cell(row.rule) },
  { title: 'stated', value: (row: ReportRow) => cell(row.stated), align: 'right' },
  { title: 'found', value: (row: ReportRow) => cell(row.found), align: 'right' },
] as const;

function section(title: string, body: string): string {
  const indented = body
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
  return `${paint('bold', title)}\n${indented}`;
}

function instant(value: ReportCell | undefined): string {
  return value === null || value === undefined ? '–' : String(value).replace(/\.\d+Z$/, 'Z');
}

function cell(value: ReportCell | undefined): string {
  return printable(value === null || value === undefined ? null : String(value));
}
