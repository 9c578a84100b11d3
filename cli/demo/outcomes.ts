/** The outcome of each fault, by the service's own log and by billsync's records. */

import type { ReportRow } from '../../reports/cells.ts';
import type { Delivery } from '../../sandbox/model.ts';
import type { Sandbox } from '../../sandbox/service.ts';
import type { PublishedReader } from '../published.ts';
import type { Fault, PlayedInvoice, Story } from './story.ts';

export interface Outcome {
  readonly kind: string;
  /** The fault, and how billsync handled it. */
  readonly account: string;
  /** false: the evidence does not show what it must; the demo fails. */
  readonly isProved: boolean;
}

export async function gatherOutcomes(evidence: Evidence): Promise<readonly Outcome[]> {
  const facts = await gather(evidence);
  return [
    duplicates(facts),
    reordered(facts),
    expiredUrls(facts),
    wrongHashes(facts),
    cutOffBodies(facts),
    overloaded(facts),
    tokens(facts),
    missed(facts),
    voidedBeforeLoading(facts),
    voidedAfterLoading(facts),
    partnerLevel(facts),
    testEvents(facts),
    poisoned(facts),
    drafts(facts),
  ];
}

function duplicates({ deliveries }: Facts): Outcome {
  const accepted = new Map<string, number>();
  let repeated = 0;
  for (const delivery of deliveries) {
    for (const { responseBody } of delivery.attempts) {
      const { status } = answerOf(responseBody);
      if (status === 'accepted') accepted.set(delivery.eventId, (accepted.get(delivery.eventId) ?? 0) + 1);
      if (status === 'duplicate') repeated += 1;
    }
  }
  const isProved = repeated > 0 && [...accepted.values()].every((times) => times === 1);
  const account = `${repeated} of ${deliveries.length} deliveries were repeats: answered 200 "duplicate", counted once`;
  return { kind: 'Duplicates', account, isProved };
}

function reordered(facts: Facts): Outcome {
  const late = of(facts, 'late-created');
  const account = `finalized came before created for ${names(late)}: loaded all the same`;
  const overtook = late.every((invoice) => came(facts, invoice, 'invoice_finalized', 'invoice_created'));
  return { kind: 'Reordering', account, isProved: overtook && allAre(facts, late, 'loaded') };
}

function expiredUrls(facts: Facts): Outcome {
  const dead = of(facts, 'expired-url');
  const account = `the presigned URLs of ${names(dead)} had expired on arrival: new ones were requested, loaded`;
  return {
    kind: 'Expired URL',
    account,
    isProved: allAre(facts, dead, 'loaded') && allFrom(facts, dead, ['regenerate']),
  };
}

function wrongHashes(facts: Facts): Outcome {
  const wrong = of(facts, 'wrong-hash');
  const account = `the bytes of ${names(wrong)} did not have the announced SHA-256: refused, requested again, verified`;
  const isProved = wrong.every(({ invoiceId }) => {
    const announced = facts.sandbox
      .events()
      .find((event) => event.invoiceId === invoiceId && event.eventType === 'invoice_finalized');
    const loaded = facts.invoices.get(invoiceId)?.file_sha256;
    return announced !== undefined && typeof loaded === 'string' && !announced.body.includes(loaded);
  });
  return { kind: 'Wrong hash', account, isProved: isProved && allAre(facts, wrong, 'loaded') };
}

function cutOffBodies(facts: Facts): Outcome {
  const cut = of(facts, 'cut-off-body');
  const account = `the downloads of ${names(cut)} were cut off: not loaded, downloaded again`;
  const isProved = cut.every(({ invoiceId }) => {
    const [file] = facts.files.get(invoiceId) ?? [];
    return Number(file?.file_size_bytes) === facts.sandbox.invoice(invoiceId).file.sizeBytes;
  });
  return {
    kind: 'Cut-off body',
    account,
    isProved: isProved && wasApplied(facts, 'cut-off-body') && allAre(facts, cut, 'loaded'),
  };
}

function overloaded(facts: Facts): Outcome {
  const busy = of(facts, 'overloaded');
  const account = `storage answered 503 for ${names(busy)}: waited for Retry-After, loaded`;
  return {
    kind: 'Overload (503)',
    account,
    isProved: wasApplied(facts, 'unavailable') && allAre(facts, busy, 'loaded'),
  };
}

function tokens(facts: Facts): Outcome {
  const refused = of(facts, 'refused-token');
  const later = of(facts, 'poisoned');
  const account = `a call for ${names(refused)} was refused with 401, and half-way every token was revoked: new ones were requested, no work lost`;
  return {
    kind: 'Expired token',
    account,
    // Files that were repaired after the revocation needed a new token.
    isProved: wasApplied(facts, 'unauthorized') && allAre(facts, [...refused, ...later], 'loaded'),
  };
}

function missed(facts: Facts): Outcome {
  const lost = of(facts, 'missed-finalized');
  const wasReceived = lost.some((invoice) => arrival(facts, invoice, 'invoice_finalized') !== null);
  const account = `the finalized events of ${names(lost)} were never sent: found by reconciliation, loaded`;
  return { kind: 'Missed event', account, isProved: !wasReceived && allAre(facts, lost, 'loaded') };
}

function voidedBeforeLoading(facts: Facts): Outcome {
  const overtaken = of(facts, 'void-overtakes');
  const gone = [...of(facts, 'void-unloaded'), ...overtaken];
  const overtook = overtaken.every((invoice) => came(facts, invoice, 'invoice_voided', 'invoice_finalized'));
  const account = `${names(gone)}, for ${names(overtaken)} before the finalized event came: never loaded, in no total`;
  return {
    kind: 'Void, not loaded',
    account,
    isProved: overtook && allAre(facts, gone, 'voided') && !gone.some((invoice) => wasLoaded(facts, invoice)),
  };
}

function voidedAfterLoading(facts: Facts): Outcome {
  const gone = of(facts, 'void-loaded');
  const account = `${names(gone)} were loaded, then voided: rows kept for the record, out of every total`;
  return {
    kind: 'Void, loaded',
    account,
    isProved: allAre(facts, gone, 'voided') && gone.every((invoice) => wasLoaded(facts, invoice)),
  };
}

function partnerLevel(facts: Facts): Outcome {
  const { partnerInvoice } = facts.story;
  const row = facts.invoices.get(partnerInvoice.invoiceId);
  const account = `${partnerInvoice.invoiceNumber} sums shipments of several tenants: loaded, kept out of tenant totals`;
  return {
    kind: 'Partner level',
    account,
    isProved: row?.invoice_level === 'partner' && row.state === 'loaded',
  };
}

function testEvents(facts: Facts): Outcome {
  const tests = facts.events.filter((event) => event.verdict === 'test');
  const billed = tests.filter((event) => facts.invoices.has(String(event.invoice_id)));
  const account = `${tests.length === 1 ? 'a test event was' : `${tests.length} test events were`} answered 200 "ignored": recorded, not processed`;
  return { kind: 'Test event', account, isProved: tests.length > 0 && billed.length === 0 };
}

function poisoned(facts: Facts): Outcome {
  const bad = of(facts, 'poisoned');
  const found = bad.flatMap(({ invoiceId, invoiceNumber }) => {
    const thing = facts.story.refused.find((candidate) => candidate.invoiceId === invoiceId);
    const finding = thing?.findings[0];
    if (finding === undefined) return [];
    return [`${invoiceNumber} line ${finding.line}, ${finding.column}: "${finding.value}"`];
  });
  const account = `files with the right hash and a wrong row (${found.join('; ')}): refused; corrected at the service, retried, loaded`;
  return {
    kind: 'Poisoned file',
    account,
    isProved: found.length === bad.length && allAre(facts, bad, 'loaded'),
  };
}

function drafts(facts: Facts): Outcome {
  const open = of(facts, 'draft');
  return {
    kind: 'Not yet billed',
    account: `${names(open)} is still a draft: in no total`,
    isProved: allAre(facts, open, 'draft'),
  };
}

export interface Evidence {
  readonly sandbox: Sandbox;
  readonly story: Story;
  readonly published: PublishedReader;
}

export interface Facts extends Evidence {
  readonly invoices: ReadonlyMap<string, ReportRow>;
  readonly events: readonly ReportRow[];
  readonly files: ReadonlyMap<string, readonly ReportRow[]>;
  readonly deliveries: readonly Delivery[];
}

export async function gather(evidence: Evidence): Promise<Facts> {
  const { published, sandbox } = evidence;
  const invoices = await published.query('invoices-list', { states: null, tenants: null, since: null });
  const events = await published.query('events-list', {
    since: null,
    invoice: null,
    type: null,
    verdict: null,
  });
  const files = new Map<string, ReportRow[]>();
  for (const file of await published.query('files-list')) {
    const invoiceId = String(file.invoice_id);
    files.set(invoiceId, [...(files.get(invoiceId) ?? []), file]);
  }
  return {
    ...evidence,
    invoices: new Map(invoices.map((row) => [String(row.invoice_id), row])),
    events,
    files,
    deliveries: sandbox.deliveries(),
  };
}

/** When the endpoint received the invoice's event of that type; null when it never did. */
export function arrival({ events }: Facts, { invoiceId }: PlayedInvoice, type: string): string | null {
  const event = events.find((each) => each.invoice_id === invoiceId && each.event_type === type);
  return event === undefined ? null : String(event.received_at);
}

/** Whether both arrived, the first not after the second: they can share a millisecond. */
export function came(facts: Facts, invoice: PlayedInvoice, first: string, then: string): boolean {
  const [before, after] = [arrival(facts, invoice, first), arrival(facts, invoice, then)];
  return before !== null && after !== null && before <= after;
}

export function wasLoaded({ files }: Facts, { invoiceId }: PlayedInvoice): boolean {
  return (files.get(invoiceId) ?? []).some((file) => file.loaded_at !== null);
}

export function of({ story }: Facts, fault: Fault): readonly PlayedInvoice[] {
  return story.invoices.filter((invoice) => invoice.fault === fault);
}

export function allAre({ invoices }: Facts, chosen: readonly PlayedInvoice[], state: string): boolean {
  return chosen.length > 0 && chosen.every(({ invoiceId }) => invoices.get(invoiceId)?.state === state);
}

export function allFrom(
  { files }: Facts,
  chosen: readonly PlayedInvoice[],
  sources: readonly string[],
): boolean {
  return chosen.every(({ invoiceId }) =>
    (files.get(invoiceId) ?? []).some(
      (file) => file.is_current === true && sources.includes(String(file.file_source)),
    ),
  );
}

export function wasApplied({ sandbox }: Facts, name: string): boolean {
  const rules = sandbox.faults.list().filter((rule) => rule.name === name);
  return rules.length > 0 && rules.every((rule) => rule.struck > 0);
}

export function names(invoices: readonly PlayedInvoice[]): string {
  return invoices.map(({ invoiceNumber }) => invoiceNumber).join(', ');
}

/** The status that the endpoint answered. */
export function answerOf(body: string): { readonly status: unknown } {
  try {
    return JSON.parse(body) as { status: unknown };
  } catch {
    return { status: null };
  }
}
