/** A statement as one table for programs: a row for each figure, `section` says of what. */

import { renderCsv } from '../../reports/render/csv-text.ts';
import type { ReportColumn, ReportRow } from '../../reports/report-result.ts';
import type { Statement } from './statement.ts';

/** RFC 4180; text that a spreadsheet would compute has an apostrophe before it. */
export function statementCsv(statement: Statement): string {
  return renderCsv({ columns: COLUMNS, rows: rowsOf(statement) });
}

function rowsOf(statement: Statement): readonly ReportRow[] {
  const { tenant, tenant_id, partner_id, period, by, sent_at } = statement;
  const { totals, billed, corrections, invoices, left_out: leftOut, mark_up: markUp } = statement;
  const rows: ReportRow[] = [
    ...billed.map(({ kind, ...cell }) => ({ section: kind, ...cell })),
    ...corrections.map(({ difference, why, period: of, told, now, ...each }) => ({
      ...{ section: 'correction', ...each, amount: difference },
      detail: `${of}: ${why}; told ${told}, now ${now}`,
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
    ...leftOut.map(({ state, reason, stated_total, ...each }) => ({
      ...{ section: 'not counted', ...each, amount: stated_total },
      detail: [state, reason].filter((word) => word !== null).join(', '),
    })),
    ...statement.cannot_say.map((detail) => ({ section: 'cannot say', detail })),
  ];
  const each = { tenant, tenant_id, partner_id, period, by, sent_at };
  return rows.map((row) => ({ ...each, ...row }));
}

const column = (name: string, type: ReportColumn['type'] = 'text'): ReportColumn => {
  const scale = type === 'decimal' ? 4 : 0;
  return { name, type, scale, unit: null, align: 'left', isDetail: false };
};

const COLUMNS: readonly ReportColumn[] = [
  ...[column('tenant'), column('tenant_id'), column('partner_id'), column('period'), column('by')],
  ...[column('sent_at')],
  ...[column('section'), column('carrier'), column('service_level'), column('zone')],
  ...[column('invoice_number'), column('invoice_id'), column('currency_code'), column('lines', 'count')],
  ...[column('packages', 'count'), column('amount', 'decimal'), column('detail'), column('file_sha256')],
];
