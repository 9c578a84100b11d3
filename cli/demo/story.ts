/** Plays the demo: bills invoices at the sandbox, lets things go wrong, and waits until billsync has settled them all. */

import type { QuarantinedThing } from '../../contract/quarantine.js';
import type { Sandbox } from '../../sandbox/service.js';
import { arrangeCreation, arrangeFate, type Fate, fatesOf } from './fates.js';

export interface PlayedInvoice {
  readonly invoiceId: string;
  readonly invoiceNumber: string;
  readonly fate: Fate;
}

/** Where billsync says an invoice stands; from the published file. */
export type StateOf = () => Promise<ReadonlyMap<string, string>>;

export interface Stage {
  readonly sandbox: Sandbox;
  readonly registrationId: string;
  readonly states: StateOf;
  /** What lies in quarantine now; it leaves when a mended file is loaded. */
  readonly quarantined: () => Promise<readonly QuarantinedThing[]>;
  /** A person's wish to try a parked invoice again. */
  readonly retry: (invoiceId: string) => Promise<void>;
  readonly progress: (words: string) => void;
  /** When to give up waiting, in milliseconds of `Date.now()`. */
  readonly deadline: number;
}

export interface Story {
  readonly invoices: readonly PlayedInvoice[];
  readonly partnerInvoice: PlayedInvoice;
  /** What was refused, as it lay in quarantine before it was mended. */
  readonly refused: readonly QuarantinedThing[];
}

/** @throws Error naming the invoices that did not settle in time */
export async function playStory(stage: Stage, wanted: { readonly invoices: number }): Promise<Story> {
  const { sandbox, progress } = stage;
  sandbox.faults.add({ name: 'duplicate', rate: 0.3, params: { times: 2, delayMs: 150 } });
  await sandbox.testEvent(stage.registrationId);

  const played: PlayedInvoice[] = [];
  for (const [index, fate] of fatesOf(wanted.invoices).entries()) {
    played.push(await bill(stage, fate, played, index));
    progress(`billed ${played.length} of ${wanted.invoices} invoices`);
  }
  await settle(
    stage,
    played.filter(({ fate }) => fate !== 'missed-finalized'),
    expectedAtFirst,
  );

  const refused = await stage.quarantined();

  // Every token that was given out is dead from here on: the next call is refused and needs a new one.
  sandbox.revokeTokens();
  progress('tokens revoked; voiding what is loaded, mending what is broken');
  for (const { fate, invoiceId } of played) {
    if (fate === 'void-loaded') sandbox.cancel(invoiceId);
    if (fate === 'poisoned') {
      await sandbox.repair(invoiceId);
      await stage.retry(invoiceId);
    }
  }
  const partnerInvoice = await billPartner(stage, played);
  await settle(stage, [...played, partnerInvoice], expectedAtLast);
  await sandbox.idle();
  return { invoices: played, partnerInvoice, refused };
}

async function bill(
  { sandbox }: Stage,
  fate: Fate,
  before: readonly PlayedInvoice[],
  index: number,
): Promise<PlayedInvoice> {
  arrangeCreation(sandbox.faults, fate);
  const { invoiceId, invoiceNumber } = await sandbox.createInvoice({ shipments: 12 + ((index * 7) % 29) });
  arrangeFate(sandbox.faults, { invoiceId, fate, nth: before.filter((other) => other.fate === fate).length });
  if (fate === 'void-unloaded') sandbox.cancel(invoiceId);
  else if (fate !== 'draft') await sandbox.finalize(invoiceId);
  if (fate === 'void-overtakes') sandbox.cancel(invoiceId);
  return { invoiceId, invoiceNumber, fate };
}

/** A partner-level invoice sums shipments that the tenants' invoices have too; reports must not add both. */
async function billPartner({ sandbox }: Stage, played: readonly PlayedInvoice[]): Promise<PlayedInvoice> {
  const usd = (id: string): boolean => sandbox.invoice(id).currencyCode === 'USD';
  const sources = played.filter(({ fate, invoiceId }) => fate === 'plain' && usd(invoiceId)).slice(0, 4);
  const { invoiceId, invoiceNumber } = await sandbox.createInvoice({
    partnerLevel: true,
    sources: sources.map((source) => source.invoiceId),
  });
  await sandbox.finalize(invoiceId);
  return { invoiceId, invoiceNumber, fate: 'plain' };
}

function expectedAtFirst(fate: Fate): string {
  if (fate === 'poisoned') return 'needs_attention';
  if (fate === 'void-loaded') return 'loaded';
  return expectedAtLast(fate);
}

export function expectedAtLast(fate: Fate): string {
  if (fate === 'draft') return 'draft';
  return fate.startsWith('void') ? 'voided' : 'loaded';
}

async function settle(
  { states, progress, deadline }: Stage,
  invoices: readonly PlayedInvoice[],
  expected: (fate: Fate) => string,
): Promise<void> {
  for (;;) {
    const now = await states();
    const open = invoices.filter(({ invoiceId, fate }) => now.get(invoiceId) !== expected(fate));
    progress(`settled ${invoices.length - open.length} of ${invoices.length} invoices`);
    if (open.length === 0) return;
    if (Date.now() > deadline) {
      const named = open.map(
        ({ invoiceId, invoiceNumber, fate }) =>
          `${invoiceNumber} (${fate}) is ${now.get(invoiceId) ?? 'unheard of'}`,
      );
      throw new Error(`${open.length} invoices did not settle: ${named.join('; ')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
