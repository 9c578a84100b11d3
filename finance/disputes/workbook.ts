import { buffer } from 'node:stream/consumers';
import { moneyColumn, type ReportColumn, reportColumn } from '../../reports/cells.ts';
import { renderCsv } from '../../reports/render/csv-text.ts';
import { amountText } from '../../reports/render/labels.ts';
import { inOneBatch } from '../../reports/render/render-report.ts';
import { claimRefused, NOTHING } from './claim.ts';
import { type ClaimWithStatus, totalsOf } from './claim-status.ts';

/** A claim is a letter with `pdf`, and a table otherwise. */
export const CLAIM_FORMATS = ['pdf', 'xlsx', 'csv'] as const;
export type ClaimFormat = (typeof CLAIM_FORMATS)[number];

/** @throws ClaimError they are of several carriers or partners, or none is left */
export async function claimFile(
  claims: readonly ClaimWithStatus[],
  format: ClaimFormat,
  { now, dataDir }: { readonly now: Date; readonly dataDir: string },
) {
  const pending = claims.filter(({ outstanding }) => outstanding !== NOTHING);
  const [first] = pending;
  if (first === undefined) throw claimRefused('Nothing is claimed by these claims');
  refuseSeveral(
    'carriers',
    pending.map(({ carrier }) => carrier.toLowerCase()),
  );
  refuseSeveral(
    'partners',
    pending.map(({ partner_id }) => partner_id ?? 'unknown'),
  );
  const sheet = {
    columns: COLUMNS,
    rows: pending.map(({ history: _history, credits: _credits, concerns: _concerns, ...claim }) => ({
      ...{ ...claim, our_reference: claim.id, amount: claim.outstanding },
    })),
  };
  const counts = { claims: pending.length, leftOut: claims.length - pending.length };
  if (format === 'csv') return { ...counts, body: renderCsv(sheet) };
  if (format === 'pdf') {
    const [{ Paper }, { statementHeads }] = await Promise.all([
      import('../statements/render-pdf.ts'),
      import('../statements/statement-heads.ts'),
    ]);
    const { sender } = (await statementHeads(dataDir))(
      { tenant: '', tenant_id: null, partner_id: null },
      null,
    );
    const title = `Claims against ${first.carrier}`;
    const paper = new Paper('a4', { title, at: now });
    if (sender !== null)
      for (const line of [sender.name, ...sender.address.split('\n'), '']) paper.text(line);
    paper.text(now.toISOString().slice(0, 10));
    paper.heading(title, 16);
    const totals = totalsOf(pending).map(
      ({ claimed, currency_code }) => `${amountText(claimed, currency_code)} ${currency_code}`,
    );
    paper.text(
      `You charged the lines below more than they should have cost. Please credit ${totals.join(' and ')}, and name our reference with each credit.`,
    );
    paper.table(COLUMNS, sheet.rows);
    return { ...counts, body: await paper.end(title) };
  }
  const { renderWorkbook } = await import('../../reports/render/xlsx-file.ts');
  const about = [
    ['Claims', `${pending.length} against ${first.carrier}, as of ${now.toISOString().slice(0, 10)}`],
    ...totalsOf(pending).map(({ claimed, currency_code }) => ['Claimed', `${claimed} ${currency_code}`]),
    ['One row per', 'billed line'],
    ['Billed', 'the amount of the line on the invoice'],
    ['Expected', 'what the line should have cost'],
    ['Claimed', 'the amount claimed: billed less expected, less credits before the claim'],
    ['Our reference', 'please name it with each credit'],
  ] as const satisfies readonly (readonly string[])[];
  return {
    ...counts,
    body: await buffer(
      renderWorkbook(
        { columns: sheet.columns, batches: inOneBatch(sheet.rows) },
        { sheet: 'Claims', about: about.map(([label = '', text = '']) => [label, text]) },
      ),
    ),
  };
}

function refuseSeveral(what: string, names: readonly string[]): void {
  const several = [...new Set(names)].sort();
  if (several.length <= 1) return;
  throw claimRefused(
    `These are claims of several ${what}: ${several.join(', ')}`,
    'one file is for one carrier: choose with --carrier, or name the claims',
  );
}

/** `report adjustments --disputes FILE` reads these names of columns back. */
const COLUMNS: readonly ReportColumn[] = [
  reportColumn('our_reference'),
  reportColumn('carrier'),
  reportColumn('tracking_number'),
  reportColumn('invoice_number'),
  reportColumn('ship_date', 'date'),
  moneyColumn('billed'),
  moneyColumn('expected'),
  moneyColumn('amount', { label: 'Claimed' }),
  reportColumn('currency_code', 'text', { label: 'Currency' }),
  reportColumn('reason'),
];
