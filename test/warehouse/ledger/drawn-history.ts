/** Histories of one invoice, drawn at random: equal instants and ids, clocks that are ahead or behind, restores and choices. */

import fc from 'fast-check';
import type { Fact } from '../../../archive/archive.ts';
import { checkDecision } from '../../../warehouse/ledger/decide.ts';
import { deriveInvoice } from '../../../warehouse/ledger/derive-invoice.ts';
import type { Evidence, InvoiceLines, LoadLine } from '../../../warehouse/ledger/invoice-lines.ts';
import { factLines } from '../../../warehouse/ledger/ledger-lines.ts';

export const INVOICE_ID = '11111111-1111-4111-8111-111111111111';
const DAY = 86_400_000;
const START = Date.parse('2026-03-01T00:00:00.000Z');

export type Act =
  | { readonly kind: 'finalized'; readonly hash: string; readonly sentAhead: number }
  | { readonly kind: 'void'; readonly id: string }
  | { readonly kind: 'void-details' | 'restore' | 'deny' | 'fail' }
  | { readonly kind: 'load'; readonly hash: string; readonly source: LoadLine['file_source'] }
  | { readonly kind: 'answer'; readonly hash: string }
  | { readonly kind: 'choose'; readonly version: number };

export interface Step {
  readonly act: Act;
  /** Minutes since the step before. */
  readonly minutes: number;
  /** How far the clock of the writer is ahead (ms). */
  readonly skew: number;
}

const hash = fc.constantFrom('a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64));
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    ...{ kind: fc.constant('finalized' as const), hash },
    sentAhead: fc.constantFrom(0, 0, -DAY, DAY, 900 * 365 * DAY),
  }),
  fc.record({ kind: fc.constant('void' as const), id: fc.constantFrom('v1', 'v2', 'v3') }),
  fc.record({ kind: fc.constantFrom('restore', 'restore', 'deny', 'fail', 'void-details') }),
  fc.record({
    ...{ kind: fc.constant('load' as const), hash },
    source: fc.constantFrom('event', 'regenerate', 'export', 'file'),
  }),
  fc.record({ kind: fc.constant('answer' as const), hash }),
  fc.record({ kind: fc.constant('choose' as const), version: fc.integer({ min: 1, max: 3 }) }),
);

/** @param skews of the writers' clocks */
export function drawnHistory(skews: readonly number[]): fc.Arbitrary<readonly Step[]> {
  const minutes = fc.constantFrom(0, 0, 1, 30);
  const skew = fc.constantFrom(...skews);
  return fc.array(fc.record({ act, minutes, skew }), { minLength: 1, maxLength: 14 });
}

export const RIGHT = [0];
export const WRONG = [0, 0, 2 * DAY, -2 * DAY];

export interface Moment {
  /** The right time, ISO 8601 UTC. */
  readonly at: string;
  readonly lines: InvoiceLines;
}

/** The ledger's lines after each step. Steps that the ledger would refuse change nothing. */
export function play(steps: readonly Step[]): readonly Moment[] {
  let lines: InvoiceLines = { evidence: [], loads: [], attention: [] };
  let now = START;
  return steps.map(({ act, minutes, skew }, index) => {
    now += minutes * 60_000;
    lines = after(lines, act, { at: new Date(now + skew).toISOString(), sentAt: now, index });
    return { at: new Date(now).toISOString(), lines };
  });
}

function after(
  lines: InvoiceLines,
  act: Act,
  { at, sentAt, index }: { readonly at: string; readonly sentAt: number; readonly index: number },
): InvoiceLines {
  const row = deriveInvoice(lines)?.row;
  const afterVersion = row?.last_version ?? 0;
  const common = { at, invoiceId: INVOICE_ID, afterVersion };
  const withFact = (fact: Fact): InvoiceLines => {
    const line = { ...factLines([fact]).attention[0], recorded_at: at };
    return {
      ...lines,
      attention: [...lines.attention, line as unknown as InvoiceLines['attention'][number]],
    };
  };
  const withEvidence = (line: Evidence): InvoiceLines =>
    lines.evidence.some(({ event_id: id }) => id !== null && id === line.event_id)
      ? lines
      : { ...lines, evidence: [...lines.evidence, line] };
  switch (act.kind) {
    case 'finalized': {
      const sent = Math.min(sentAt + act.sentAhead, Date.parse(at) + 120_000);
      return withEvidence({
        ...evidence(at, 'invoice_finalized', `f${index}`),
        ...{ event_time: new Date(sent).toISOString(), announced_sha256: act.hash },
      });
    }
    case 'void':
      return withEvidence(evidence(at, 'invoice_voided', act.id));
    case 'void-details':
      return withEvidence({ ...evidence(at, null, null), invoice_status: 'voided', entry: index });
    case 'load': {
      const isRefused = row?.voided_at != null || lines.loads.some((load) => load.file_sha256 === act.hash);
      return isRefused ? lines : { ...lines, loads: [...lines.loads, loadLine(act, at, afterVersion + 1)] };
    }
    case 'answer':
      return withFact({ kind: 'hash-answered', ...common, sha256: act.hash, sizeBytes: 1 });
    case 'deny':
      return withFact({ kind: 'attention', ...common, code: 'void-contradicted', reason: 'denied' });
    case 'fail':
      return withFact({ kind: 'failure', ...common, code: 'server-fault', reason: 'failed' });
    case 'restore':
    case 'choose': {
      const by = { invoiceId: INVOICE_ID, by: 'ada', reason: 'why', isDryRun: false };
      const decision =
        'version' in act
          ? ({ ...by, kind: 'use-version', version: act.version } as const)
          : ({ ...by, kind: 'restore' } as const);
      const { fact } = checkDecision(decision, lines, at);
      return fact === null ? lines : withFact(fact);
    }
  }
}

function evidence(at: string, type: string | null, id: string | null): Evidence {
  return {
    ...{ recorded_at: at, event_time: at, entry: null, event_id: id, event_type: type, invoice_status: null },
    ...{ partner_id: 'p', partner_invoice_id: null, invoice_level: 'tenant', tenant_id: 't' },
    ...{ partner_tenant_id: null, invoice_number: null, invoice_start_date: null, invoice_end_date: null },
    ...{ invoice_date: null, invoice_due_date: null, currency_code: null, stated_total: null },
    ...{ stated_shipments: null, announced_sha256: null, announced_size_bytes: null },
  };
}

function loadLine(
  { hash, source }: Extract<Act, { readonly kind: 'load' }>,
  at: string,
  version: number,
): LoadLine {
  const isNamed = source === 'event' || source === 'regenerate';
  return {
    ...{ load_id: version, version, file_source: source, file_sha256: hash, loaded_at: at },
    announced_sha256: isNamed ? hash : null,
    ...{ encoded_sha256: null, is_denied: false, is_damaged: false, file_size_bytes: 1, shipments: 1 },
    ...{ billing_cost: '1.0000', currency_code: 'USD', currencies: 'USD', first_ship_date: null },
    ...{ last_ship_date: null, ends_with_line_end: true },
  };
}

export interface Counting {
  readonly loadId: number | null;
  readonly isVoid: boolean;
}

/** What totals contain at present. */
export function countingNow(lines: InvoiceLines): Counting {
  const row = deriveInvoice(lines)?.row;
  const loadId = row?.current_load_id ?? null;
  return { loadId, isVoid: loadId !== null && row?.voided_at != null };
}

interface PastSpan {
  readonly load_id: number;
  readonly voided_at: string | null;
  readonly since: string;
  readonly until: string;
}

/** What the derived row says about an instant; written as a reader would look it up. */
export function countingOn(lines: InvoiceLines, instant: string): Counting {
  const row = deriveInvoice(lines)?.row;
  if (row?.counts_since != null && row.counts_since <= instant) return countingNow(lines);
  const past = JSON.parse(row?.past_counts ?? '[]') as readonly PastSpan[];
  const span = past.find(({ since, until }) => since <= instant && instant < until);
  return { loadId: span?.load_id ?? null, isVoid: span !== undefined && span.voided_at !== null };
}
