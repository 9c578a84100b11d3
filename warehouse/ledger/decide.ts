/**
 * What only a person may decide about an invoice, checked by what the ledgers say: each decision is a fact of the archive
 * with who, when and why, so a warehouse that is made again keeps it.
 */

import type { Fact } from '../../archive/archive.ts';
import type { Decided, Decision } from '../warehouse.ts';
import { deriveInvoice } from './derive-invoice.ts';
import type { InvoiceLines } from './invoice-lines.ts';

/**
 * @param lines what the ledgers hold of the invoice; undefined: nothing
 * @param now ISO 8601 UTC
 * @returns the fact to archive, null when the decision is refused, and the answer for the person
 */
export function checkDecision(
  decision: Decision,
  lines: InvoiceLines | undefined,
  now: string,
): { readonly fact: Fact | null; readonly decided: Decided } {
  const row = lines === undefined ? undefined : deriveInvoice(lines)?.row;
  const versions = (lines?.loads ?? []).map(({ version }) => version).sort((a, b) => a - b);
  const say = (outcome: Decided['outcome'], fact: Fact | null = null) => ({
    fact,
    decided: { outcome, state: row?.state ?? null, partnerId: row?.partner_id ?? null, versions },
  });
  if (lines === undefined || row === undefined) return say('unknown-invoice');
  const { invoiceId, by, reason } = decision;
  // A decision follows all that it was made on, whatever clock told of it.
  const at = latest([now, after(row.voided_at), after(row.restored_at)]);
  if (decision.kind === 'restore') {
    if (row.voided_at === null) return say('not-voided');
    if (row.void_basis === 'details') return say('voided-by-service');
    return say('done', { kind: 'restored', at, invoiceId, by, reason });
  }
  const { version } = decision;
  const load = lines.loads.find((line) => line.version === version);
  if (load === undefined) return say('no-such-version');
  if (load.load_id === row.current_load_id) return say('counts-already');
  const known = [
    ...lines.evidence.map(({ event_time }) => event_time),
    ...lines.loads.map(({ loaded_at }) => loaded_at),
    ...lines.attention.map(({ counts_from }) => counts_from),
  ];
  const countsFrom = latest([at, ...known.map(after)]);
  const { file_sha256: sha256 } = load;
  return say('done', { kind: 'version-chosen', at, invoiceId, sha256, version, countsFrom, by, reason });
}

/** The next millisecond; '' for no instant. */
function after(instant: string | null): string {
  return instant === null ? '' : new Date(Date.parse(instant) + 1).toISOString();
}

/** Instants are ISO 8601 UTC of one form, so their text sorts as their time. */
function latest(instants: readonly string[]): string {
  return instants.reduce((best, at) => (at > best ? at : best), '');
}
