/** A decision is a fact of the archive with author, time and reason, so that a rebuild keeps it. */

import type { Fact } from '../../archive/archive.ts';
import type { Decided, Decision } from '../../lib/wire/warehouse-requests.ts';
import { deriveInvoice } from './derive-invoice.ts';
import { type InvoiceLines, latest } from './invoice-lines.ts';

/** @param lines undefined: the invoice is unknown @param now ISO 8601 UTC @returns fact null: the decision is refused */
export function checkDecision(
  decision: Decision,
  lines: InvoiceLines | undefined,
  now: string,
): { readonly fact: Fact | null; readonly decided: Decided } {
  const row = lines === undefined ? undefined : deriveInvoice(lines)?.row;
  const versions = (lines?.loads ?? []).map(({ version }) => version).sort((a, b) => a - b);
  const result = (outcome: Decided['outcome'], fact: Fact | null = null) => ({
    fact,
    decided: { outcome, state: row?.state ?? null, partnerId: row?.partner_id ?? null, versions },
  });
  if (lines === undefined || row === undefined) return result('unknown-invoice');
  const { invoiceId, by, reason } = decision;
  // A decision is later than everything it is based on, even if a clock is wrong.
  const at = latest([now, after(row.voided_at), after(row.restored_at)]) ?? now;
  if (decision.kind === 'restore') {
    if (row.voided_at === null) return result('not-voided');
    if (row.void_basis === 'details') return result('voided-by-service');
    return result('done', { kind: 'restored', at, invoiceId, by, reason });
  }
  const { version } = decision;
  const load = lines.loads.find((line) => line.version === version);
  if (load === undefined) return result('no-such-version');
  if (load.load_id === row.current_load_id) return result('counts-already');
  const known = [
    ...lines.evidence.map(({ event_time }) => event_time),
    ...lines.loads.map(({ loaded_at }) => loaded_at),
    ...lines.attention.map(({ counts_from }) => counts_from),
  ];
  const countsFrom = latest([at, ...known.map(after)]) ?? at;
  const { file_sha256: sha256 } = load;
  return result('done', { kind: 'version-chosen', at, invoiceId, sha256, version, countsFrom, by, reason });
}

function after(instant: string | null): string {
  return instant === null ? '' : new Date(Date.parse(instant) + 1).toISOString();
}
