import { moneyColumn, type ReportCell } from '../cells.ts';
import { displayCell } from './labels.ts';
import { escapeHtml } from './templates.ts';

export function money(cell: ReportCell | undefined, currency?: ReportCell): string {
  if (cell === null || cell === undefined) return '';
  const row = { cell, currency_code: currency ?? null };
  const { text, exact, isNegative } = displayCell(row, moneyColumn('cell'));
  const amount = escapeHtml(`${text} ${currency ?? ''}`.trim());
  if (exact === null && !isNegative) return amount;
  return `<span${isNegative ? ' class="negative"' : ''}${exact === null ? '' : ` title="${exact}"`}>${amount}</span>`;
}

export function stateBadge(state: ReportCell | undefined): string {
  const color = STATE_COLORS[String(state)] ?? 'secondary';
  return `<span class="badge bg-${color}-lt">${escapeHtml(stateLabel(state))}</span>`;
}

const STATE_COLORS: Readonly<Record<string, string>> = {
  ...{ loaded: 'green', needs_attention: 'red', draft: 'yellow', finalized: 'azure' },
  ...{ open: 'yellow', sent: 'azure', credited: 'green', rejected: 'red' },
  ...{ new: 'azure', claimed: 'yellow', dismissed: 'secondary' },
};

export function stateLabel(state: ReportCell | undefined): string {
  return String(state ?? '').replaceAll('_', ' ');
}
