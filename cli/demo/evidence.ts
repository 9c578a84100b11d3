/** What both sides say of the demo's invoices, and the questions that its outcomes are made of. */

import type { ReportRow } from '../../reports/report-result.ts';
import type { Delivery } from '../../sandbox/model.ts';
import type { Sandbox } from '../../sandbox/service.ts';
import type { PublishedReader } from '../published.ts';
import type { Fault } from './faults.ts';
import type { PlayedInvoice, Story } from './story.ts';

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
  const invoices = await published.ask('invoices-list', { states: null, tenants: null, since: null });
  const events = await published.ask('events-list', {
    since: null,
    invoice: null,
    type: null,
    verdict: null,
  });
  const files = new Map<string, ReportRow[]>();
  for (const file of await published.ask('files-list')) {
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

/** Whether both came, the one not after the other: two can share a millisecond. */
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

export function allAre({ invoices }: Facts, wanted: readonly PlayedInvoice[], state: string): boolean {
  return wanted.length > 0 && wanted.every(({ invoiceId }) => invoices.get(invoiceId)?.state === state);
}

export function allFrom(
  { files }: Facts,
  wanted: readonly PlayedInvoice[],
  sources: readonly string[],
): boolean {
  return wanted.every(({ invoiceId }) =>
    (files.get(invoiceId) ?? []).some(
      (file) => file.is_current === true && sources.includes(String(file.file_source)),
    ),
  );
}

export function struck({ sandbox }: Facts, name: string): boolean {
  const rules = sandbox.faults.list().filter((rule) => rule.name === name);
  return rules.length > 0 && rules.every((rule) => rule.struck > 0);
}

export function names(invoices: readonly PlayedInvoice[]): string {
  return invoices.map(({ invoiceNumber }) => invoiceNumber).join(', ');
}

/** What the endpoint said of a delivery. */
export function answerOf(body: string): { readonly status: unknown } {
  try {
    return JSON.parse(body) as { status: unknown };
  } catch {
    return { status: null };
  }
}
