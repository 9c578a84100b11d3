import { compareDecimals } from '../../lib/decimal.ts';
import { isWebhookStatus, WEBHOOK_STATUSES } from '../../lib/wire/names.ts';
import { namedHash, unheededAnnouncement } from './derive-current.ts';
import { statusOf } from './derive-status.ts';
import {
  type DiscrepancyLine,
  type Evidence,
  type HeaderCells,
  type InvoiceLines,
  type LoadLine,
  latest,
} from './invoice-lines.ts';

export function discrepanciesOf(
  lines: InvoiceLines,
  current: LoadLine | null,
  header: HeaderCells,
): readonly DiscrepancyLine[] {
  const { evidence } = lines;
  return [
    ...announcedDiscrepancies(current, lines),
    ...loadDiscrepancies(current, header),
    ...statusDiscrepancies(evidence),
    ...unknownStatus(evidence),
  ];
}

/** Contradictions for which a load without a named hash is refused. */
export function contradictions(
  stated: Pick<HeaderCells, 'stated_total' | 'stated_shipments' | 'currency_code'>,
  load: Pick<LoadLine, 'shipments' | 'billing_cost' | 'currencies'>,
): readonly { readonly rule: string; readonly stated: string; readonly found: string }[] {
  const found: { rule: string; stated: string; found: string }[] = [];
  const { currency_code: currency, stated_shipments: count, stated_total: total } = stated;
  if (currency !== null && load.shipments > 0 && load.currencies !== currency) {
    found.push({ rule: 'currency', stated: currency, found: load.currencies });
  } else if (currency === null && load.currencies.includes(',')) {
    found.push({ rule: 'currency', stated: 'one currency', found: load.currencies });
  }
  if (count !== null && count !== load.shipments) {
    found.push({ rule: 'shipment-count', stated: `${count}`, found: `${load.shipments}` });
  }
  if (total !== null && compareDecimals(total, load.billing_cost) !== 0) {
    found.push({ rule: 'total-amount', stated: total, found: load.billing_cost });
  }
  return found;
}

function loadDiscrepancies(load: LoadLine | null, header: HeaderCells): readonly DiscrepancyLine[] {
  if (load === null) return [];
  const from = { file_sha256: load.file_sha256, event_id: null, recorded_at: load.loaded_at };
  const found = [...contradictions(header, load)];
  const [start, end] = [header.invoice_start_date?.slice(0, 10), header.invoice_end_date?.slice(0, 10)];
  if (load.first_ship_date !== null && load.last_ship_date !== null) {
    const isBefore = start !== undefined && load.first_ship_date < start;
    const isAfter = end !== undefined && load.last_ship_date > end;
    if (isBefore || isAfter) {
      found.push({
        rule: 'period',
        stated: `${start ?? '…'} to ${end ?? '…'}`,
        found: `${load.first_ship_date} to ${load.last_ship_date}`,
      });
    }
  }
  if (!load.ends_with_line_end)
    found.push({ rule: 'no-final-line-end', stated: 'CRLF', found: 'end of file' });
  return found.map((line) => ({ ...line, ...from }));
}

function announcedDiscrepancies(load: LoadLine | null, lines: InvoiceLines): readonly DiscrepancyLine[] {
  if (load === null) return [];
  const named = unheededAnnouncement(load, lines) ?? namedHash(lines);
  if (named === null) return [];
  const { sha256: hash, sizeBytes: size, eventId: event_id } = named;
  // The hash fits when it was announced of the file as HTTP encoded it.
  if (hash === load.encoded_sha256) return [];
  const recorded_at = latest([load.loaded_at, named.recordedAt ?? load.loaded_at]) ?? load.loaded_at;
  const of = { file_sha256: load.file_sha256, event_id, recorded_at };
  const found: DiscrepancyLine[] = [];
  if (hash !== load.file_sha256) {
    found.push({ rule: 'announced-hash', stated: hash, found: load.file_sha256, ...of });
  }
  if (size !== null && size !== load.file_size_bytes) {
    found.push({ rule: 'announced-size', stated: `${size}`, found: `${load.file_size_bytes}`, ...of });
  }
  return found;
}

function statusDiscrepancies(evidence: readonly Evidence[]): readonly DiscrepancyLine[] {
  return evidence
    .filter((line) => line.event_type !== null && line.invoice_status !== statusOf(line))
    .map((line) => ({
      rule: 'status-contradicts-type',
      stated: line.event_type ?? '',
      found: line.invoice_status ?? 'no status',
      file_sha256: null,
      event_id: line.event_id,
      recorded_at: line.recorded_at,
    }));
}

/** An unknown status in the newest details may mean a void, so an operator has to read it. */
function unknownStatus(evidence: readonly Evidence[]): readonly DiscrepancyLine[] {
  const details = evidence.filter((line) => line.event_id === null && line.invoice_status !== null);
  const newest = details.toSorted((a, b) => (b.entry ?? 0) - (a.entry ?? 0))[0];
  const status = newest?.invoice_status ?? null;
  if (newest === undefined || status === null || isWebhookStatus(status)) return [];
  const found = `none of ${WEBHOOK_STATUSES.join(', ')}`;
  return [
    {
      rule: 'unknown-status',
      stated: status,
      found,
      file_sha256: null,
      event_id: null,
      recorded_at: newest.recorded_at,
    },
  ];
}
