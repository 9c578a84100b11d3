import { jsonOrNull } from '../../lib/wire/text.ts';
import type { ReportRow } from '../../reports/cells.ts';
import type { Delivery } from '../../sandbox/model.ts';
import type { Sandbox } from '../../sandbox/service.ts';
import type { PublishedReader } from '../published.ts';
import type { Fault, PlayedInvoice, Story } from './story.ts';

export interface Outcome {
  readonly kind: string;
  readonly account: string;
  readonly isProved: boolean;
}

export interface Evidence {
  readonly sandbox: Sandbox;
  readonly story: Story;
  readonly published: PublishedReader;
}

interface Facts extends Evidence {
  readonly invoices: ReadonlyMap<string, ReportRow>;
  readonly events: readonly ReportRow[];
  readonly files: ReadonlyMap<string, readonly ReportRow[]>;
  readonly deliveries: readonly Delivery[];
}

export async function gatherOutcomes(evidence: Evidence): Promise<readonly Outcome[]> {
  const facts = await gather(evidence);
  return Object.entries(OUTCOMES).map(([kind, assess]) => ({ kind, ...assess(facts) }));
}

const OUTCOMES: Readonly<Record<string, (facts: Facts) => Omit<Outcome, 'kind'>>> = {
  Duplicates({ deliveries }) {
    const accepted = new Map<string, number>();
    let repeated = 0;
    for (const delivery of deliveries) {
      for (const { responseBody } of delivery.attempts) {
        const status = statusOf(responseBody);
        if (status === 'accepted') accepted.set(delivery.eventId, (accepted.get(delivery.eventId) ?? 0) + 1);
        if (status === 'duplicate') repeated += 1;
      }
    }
    return {
      account: `${repeated} of ${deliveries.length} deliveries were repeats: answered 200 "duplicate", counted once`,
      isProved: repeated > 0 && [...accepted.values()].every((times) => times === 1),
    };
  },
  Reordering(facts) {
    const late = of(facts, 'late-created');
    const overtook = late.every((invoice) => came(facts, invoice, 'invoice_finalized', 'invoice_created'));
    return {
      account: `the finalized event came before the created event for ${names(late)}: loaded all the same`,
      isProved: overtook && allAre(facts, late, 'loaded'),
    };
  },
  'Expired URL'(facts) {
    const expired = of(facts, 'expired-url');
    return {
      account: `the presigned URLs of ${names(expired)} had expired on arrival: new ones were requested, loaded`,
      isProved: allAre(facts, expired, 'loaded') && allRegenerated(facts, expired),
    };
  },
  'Wrong hash'(facts) {
    const wrong = of(facts, 'wrong-hash');
    const isOther = wrong.every(({ invoiceId }) => {
      const announced = facts.sandbox
        .events()
        .find((event) => event.invoiceId === invoiceId && event.eventType === 'invoice_finalized');
      const loaded = facts.invoices.get(invoiceId)?.file_sha256;
      return announced !== undefined && typeof loaded === 'string' && !announced.body.includes(loaded);
    });
    return {
      account: `the bytes of ${names(wrong)} did not have the announced SHA-256: refused, requested again, verified`,
      isProved: isOther && allAre(facts, wrong, 'loaded'),
    };
  },
  'Cut-off body'(facts) {
    const cut = of(facts, 'cut-off-body');
    const isWhole = cut.every(({ invoiceId }) => {
      const [file] = facts.files.get(invoiceId) ?? [];
      return Number(file?.file_size_bytes) === facts.sandbox.invoice(invoiceId).file.sizeBytes;
    });
    return {
      account: `the downloads of ${names(cut)} were cut off: not loaded, downloaded again`,
      isProved: isWhole && wasApplied(facts, 'cut-off-body') && allAre(facts, cut, 'loaded'),
    };
  },
  'Overload (503)'(facts) {
    const busy = of(facts, 'overloaded');
    return {
      account: `storage answered 503 for ${names(busy)}: waited for Retry-After, loaded`,
      isProved: wasApplied(facts, 'unavailable') && allAre(facts, busy, 'loaded'),
    };
  },
  'Expired token'(facts) {
    const refused = of(facts, 'refused-token');
    const later = of(facts, 'poisoned');
    return {
      account: `a call for ${names(refused)} was refused with 401, and half-way every token was revoked: new ones were requested, no work lost`,
      isProved: wasApplied(facts, 'unauthorized') && allAre(facts, [...refused, ...later], 'loaded'),
    };
  },
  'Missed event'(facts) {
    const lost = of(facts, 'missed-finalized');
    const wasReceived = lost.some((invoice) => arrival(facts, invoice, 'invoice_finalized') !== null);
    return {
      account: `the finalized events of ${names(lost)} were never sent: found by reconciliation, loaded`,
      isProved: !wasReceived && allAre(facts, lost, 'loaded'),
    };
  },
  'Void, not loaded'(facts) {
    const overtaken = of(facts, 'void-overtakes');
    const gone = [...of(facts, 'void-unloaded'), ...overtaken];
    const overtook = overtaken.every((invoice) =>
      came(facts, invoice, 'invoice_voided', 'invoice_finalized'),
    );
    return {
      account: `${names(gone)}, for ${names(overtaken)} before the finalized event came: never loaded, in no total`,
      isProved:
        overtook && allAre(facts, gone, 'voided') && !gone.some((invoice) => wasLoaded(facts, invoice)),
    };
  },
  'Void, loaded'(facts) {
    const gone = of(facts, 'void-loaded');
    return {
      account: `${names(gone)} were loaded, then voided: rows kept for the record, out of every total`,
      isProved: allAre(facts, gone, 'voided') && gone.every((invoice) => wasLoaded(facts, invoice)),
    };
  },
  'Partner level'({ story: { partnerInvoice }, invoices }) {
    const row = invoices.get(partnerInvoice.invoiceId);
    return {
      account: `${partnerInvoice.invoiceNumber} sums shipments of several tenants: loaded, kept out of tenant totals`,
      isProved: row?.invoice_level === 'partner' && row.state === 'loaded',
    };
  },
  'Test event'({ events, invoices }) {
    const tests = events.filter((event) => event.verdict === 'test');
    return {
      account: `${tests.length === 1 ? 'a test event was' : `${tests.length} test events were`} answered 200 "ignored": recorded, not processed`,
      isProved: tests.length > 0 && !tests.some((event) => invoices.has(String(event.invoice_id))),
    };
  },
  'Poisoned file'(facts) {
    const bad = of(facts, 'poisoned');
    const found = bad.flatMap(({ invoiceId, invoiceNumber }) => {
      const finding = facts.story.refused.find((item) => item.invoiceId === invoiceId)?.findings[0];
      if (finding === undefined) return [];
      return [`${invoiceNumber} line ${finding.line}, ${finding.column}: "${finding.value}"`];
    });
    return {
      account: `files with the right hash and a wrong row (${found.join('; ')}): refused; corrected at the service, retried, loaded`,
      isProved: found.length === bad.length && allAre(facts, bad, 'loaded'),
    };
  },
  'Not yet billed'(facts) {
    const open = of(facts, 'draft');
    return {
      account: `${names(open)} is still a draft: in no total`,
      isProved: allAre(facts, open, 'draft'),
    };
  },
};

async function gather(evidence: Evidence): Promise<Facts> {
  const { published, sandbox } = evidence;
  const invoices = await published.query('invoices-list', { states: null, tenants: null, since: null });
  const all = { since: null, invoice: null, type: null, verdict: null };
  const files = await published.query('files-list');
  return {
    ...evidence,
    invoices: new Map(invoices.map((row) => [String(row.invoice_id), row])),
    events: await published.query('events-list', all),
    files: Map.groupBy(files, (file) => String(file.invoice_id)),
    deliveries: sandbox.deliveries(),
  };
}

function arrival({ events }: Facts, { invoiceId }: PlayedInvoice, type: string): string | null {
  const event = events.find((each) => each.invoice_id === invoiceId && each.event_type === type);
  return event === undefined ? null : String(event.received_at);
}

function came(facts: Facts, invoice: PlayedInvoice, first: string, then: string): boolean {
  const [before, after] = [arrival(facts, invoice, first), arrival(facts, invoice, then)];
  return before !== null && after !== null && before <= after;
}

function wasLoaded({ files }: Facts, { invoiceId }: PlayedInvoice): boolean {
  return (files.get(invoiceId) ?? []).some((file) => file.loaded_at !== null);
}

function of({ story }: Facts, fault: Fault): readonly PlayedInvoice[] {
  return story.invoices.filter((invoice) => invoice.fault === fault);
}

function allAre({ invoices }: Facts, chosen: readonly PlayedInvoice[], state: string): boolean {
  return chosen.length > 0 && chosen.every(({ invoiceId }) => invoices.get(invoiceId)?.state === state);
}

function allRegenerated({ files }: Facts, chosen: readonly PlayedInvoice[]): boolean {
  return chosen.every(({ invoiceId }) =>
    files.get(invoiceId)?.some((file) => file.is_current === true && file.file_source === 'regenerate'),
  );
}

function wasApplied({ sandbox }: Facts, name: string): boolean {
  const rules = sandbox.faults.list().filter((rule) => rule.name === name);
  return rules.length > 0 && rules.every((rule) => rule.struck > 0);
}

function names(invoices: readonly PlayedInvoice[]): string {
  return invoices.map(({ invoiceNumber }) => invoiceNumber).join(', ');
}

function statusOf(body: string): unknown {
  return (jsonOrNull(body) as { readonly status: unknown } | null)?.status;
}
