import { jsonOrNull } from '../../lib/text.ts';
import type { Sandbox } from '../../sandbox/service.ts';
import type { PublishedReader } from '../published.ts';
import { expectedAtLast, type Fault, type Story } from './story.ts';

export interface Outcome {
  readonly kind: string;
  readonly account: string;
  readonly isProved: boolean;
}

interface Evidence {
  readonly sandbox: Sandbox;
  readonly story: Story;
  readonly published: PublishedReader;
}

interface Row {
  readonly kind: string;
  readonly faults: readonly Fault[];
  /** The rule of the sandbox that has to have struck. */
  readonly rule?: string;
  /** @param names for each fault of the row, the numbers of its invoices */
  readonly account: (...names: readonly string[]) => string;
}

const ROWS: readonly Row[] = [
  {
    kind: 'Reordering',
    faults: ['late-created'],
    rule: 'reorder',
    account: (late) => `the finalized event came before the created event for ${late}: loaded all the same`,
  },
  {
    kind: 'Expired URL',
    faults: ['expired-url'],
    rule: 'expired-url',
    account: (expired) =>
      `the presigned URLs of ${expired} had expired on arrival: new ones were requested, loaded`,
  },
  {
    kind: 'Wrong hash',
    faults: ['wrong-hash'],
    rule: 'wrong-hash',
    account: (wrong) =>
      `the bytes of ${wrong} did not have the announced SHA-256: refused, requested again, verified`,
  },
  {
    kind: 'Cut-off body',
    faults: ['cut-off-body'],
    rule: 'cut-off-body',
    account: (cut) => `the downloads of ${cut} were cut off: not loaded, downloaded again`,
  },
  {
    kind: 'Overload (503)',
    faults: ['overloaded'],
    rule: 'unavailable',
    account: (busy) => `storage answered 503 for ${busy}: waited for Retry-After, loaded`,
  },
  {
    kind: 'Expired token',
    faults: ['refused-token'],
    rule: 'unauthorized',
    account: (refused) =>
      `a call for ${refused} was refused with 401, and half-way every token was revoked: new ones were requested, no work lost`,
  },
  {
    kind: 'Missed event',
    faults: ['missed-finalized'],
    rule: 'drop',
    account: (lost) => `the finalized events of ${lost} were never sent: found by reconciliation, loaded`,
  },
  {
    kind: 'Void, not loaded',
    faults: ['void-unloaded', 'void-overtakes'],
    rule: 'reorder',
    account: (gone, overtaken) =>
      `${gone}, and ${overtaken} before its finalized event came: never loaded, in no total`,
  },
  {
    kind: 'Void, loaded',
    faults: ['void-loaded'],
    account: (gone) => `${gone} were loaded, then voided: rows kept for the record, out of every total`,
  },
  {
    kind: 'Not yet billed',
    faults: ['draft'],
    account: (open) => `${open} is still a draft: in no total`,
  },
];

/** The reports prove the totals; here every fault has to have struck, and its invoices to be in the expected state. */
export async function gatherOutcomes({ sandbox, story, published }: Evidence): Promise<readonly Outcome[]> {
  const rows = await published.query('invoices-list', { states: null, tenants: null, since: null });
  const invoices = new Map(rows.map((row) => [String(row.invoice_id), row]));
  const rules = sandbox.faults.list();
  const hasStruck = (name: string) => rules.every((rule) => rule.name !== name || rule.struck > 0);
  const of = (fault: Fault) => story.invoices.filter((invoice) => invoice.fault === fault);
  const namesOf = (fault: Fault) => of(fault).map(({ invoiceNumber }) => invoiceNumber);
  const isSettled = (fault: Fault) =>
    of(fault).every(({ invoiceId }) => invoices.get(invoiceId)?.state === expectedAtLast(fault));

  const answers = sandbox
    .deliveries()
    .flatMap(({ attempts }) => attempts.map(({ responseBody }) => statusOf(responseBody)));
  const repeated = answers.filter((status) => status === 'duplicate').length;
  const { partnerInvoice, refused } = story;
  const partner = invoices.get(partnerInvoice.invoiceId);
  const all = { since: null, invoice: null, type: null };
  const tests = await published.query('events-list', { ...all, verdict: 'test' });
  const found = refused.map(
    ({ findings: [first] }) => `line ${first?.line}, ${first?.column}: "${first?.value}"`,
  );
  return [
    {
      kind: 'Duplicates',
      account: `${repeated} of ${answers.length} deliveries were repeats: answered 200 "duplicate", counted once`,
      isProved: repeated > 0,
    },
    ...ROWS.map(({ kind, faults, rule, account }) => ({
      kind,
      account: account(...faults.map((fault) => namesOf(fault).join(', '))),
      isProved: faults.every(isSettled) && (rule === undefined || hasStruck(rule)),
    })),
    {
      kind: 'Partner level',
      account: `${partnerInvoice.invoiceNumber} sums shipments of several tenants: loaded, kept out of tenant totals`,
      isProved: partner?.invoice_level === 'partner' && partner.state === 'loaded',
    },
    {
      kind: 'Test event',
      account: 'a test event was answered 200 "ignored": recorded, not processed',
      isProved: tests.length > 0 && !tests.some((event) => invoices.has(String(event.invoice_id))),
    },
    {
      kind: 'Poisoned file',
      account: `${namesOf('poisoned').join(', ')} had the right hash and a wrong row (${found.join('; ')}): refused; corrected at the service, retried, loaded`,
      isProved: isSettled('poisoned') && hasStruck('malformed-csv'),
    },
  ];
}

function statusOf(body: string): unknown {
  return (jsonOrNull(body) as { readonly status: unknown } | null)?.status;
}
