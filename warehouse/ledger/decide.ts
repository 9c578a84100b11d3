/** A decision is a fact of the archive with author, time and reason, so that a rebuild keeps it. */

import type { Fact } from '../../archive/archive.ts';
import type { Decided, Decision } from '../../lib/warehouse-requests.ts';
import { namedHashes } from './derive-current.ts';
import { deriveInvoice } from './derive-invoice.ts';
import { rankOf } from './derive-status.ts';
import type { InvoiceLines } from './invoice-lines.ts';

/**
 * @param lines undefined when the invoice is unknown @param now ISO 8601 UTC @returns a fact of null when the decision is refused
 */
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
  const common = { at: now, invoiceId, afterVersion: row.last_version, by, reason };
  if (decision.kind === 'restore') {
    if (row.voided_at === null) return result('not-voided');
    if (row.void_basis === 'details') return result('voided-by-service');
    const voids = lines.evidence.filter((line) => rankOf(line) === 'voided');
    return result('done', {
      ...{ kind: 'restored', ...common },
      voids: voids.flatMap(({ event_id: id }) => id ?? []).sort(),
    });
  }
  const { version } = decision;
  const load = lines.loads.find((line) => line.version === version);
  if (load === undefined) return result('no-such-version');
  if (load.load_id === row.current_load_id) return result('counts-already');
  const { file_sha256: sha256 } = load;
  const overruled = [...namedHashes(lines)];
  return result('done', { kind: 'version-chosen', ...common, sha256, version, overruled });
}
