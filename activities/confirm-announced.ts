/**
 * What only a delivery states is confirmed with the service in the background, so that loading does not wait (ADR 17): files that only
 * an event has named, and events that were forwarded before our partner was known.
 */

import type { BillingService } from '../billing/billing-service.ts';
import { BillingError, isBillingError } from '../billing/errors.ts';
import type { AlertKey } from '../lib/alerts/alert-names.ts';
import { forEachBounded } from '../lib/semaphore.ts';
import type { DueInvoice } from '../lib/warehouse-requests.ts';
import type { Answer } from '../warehouse/warehouse.ts';
import type { WarehouseDependencies } from './dependencies.ts';

export type ConfirmDependencies = Pick<
  WarehouseDependencies,
  'warehouse' | 'service' | 'alerts' | 'log' | 'settings' | 'now'
>;

const LIMIT = 1_000;
const CALLS_AT_ONCE = 4;
/** Answers that are recorded together, so that a process that ends asks at most so many times again. */
const BATCH = 100;
const DAY_MS = 86_400_000;

/**
 * With several workers, one does it for all.
 * @param lookUp starts the workflow of an invoice whose file the service names differently
 * @returns false: another process is doing it
 */
export async function confirmAnnounced(
  dependencies: ConfirmDependencies,
  lookUp: (invoice: DueInvoice) => Promise<void>,
): Promise<boolean> {
  if (dependencies.settings.service.baseUrl === null) return true;
  const done = await dependencies.warehouse.alone(async () => {
    await confirmDue(dependencies, lookUp);
    return true;
  });
  return done ?? false;
}

async function confirmDue(
  { warehouse, service, alerts, log, settings, now }: ConfirmDependencies,
  lookUp: (invoice: DueInvoice) => Promise<void>,
): Promise<void> {
  const ours = settings.partnerId === null ? service.partnerIds() : [settings.partnerId];
  const since = new Date(now().getTime() - DAY_MS).toISOString();
  const due = await warehouse.unconfirmed({ partnerId: ours[0] ?? null, since, limit: LIMIT });
  const known = new Set(ours.map((partnerId) => partnerId.toLowerCase()));
  const checked = ours.length === 0 ? [] : due.unchecked;
  await record(
    checked.flatMap(({ invoiceId, partnerId, voidBasis }): readonly Answer[] => {
      const isForeign = !known.has(partnerId.toLowerCase());
      if (isForeign === (voidBasis === 'foreign')) return [];
      if (!isForeign) return [{ kind: 'included', invoiceId }];
      const reason = `It is of partner ${partnerId}, which is not ours.`;
      return [{ kind: 'excluded', invoiceId, code: 'foreign-partner', reason }];
    }),
  );
  const unknown: string[] = [];
  let isAway = false;
  for (let from = 0; from < due.announced.length && !isAway; from += BATCH) {
    const answers: Answer[] = [];
    await forEachBounded(due.announced.slice(from, from + BATCH), CALLS_AT_ONCE, async (invoice) => {
      const { invoiceId, voidBasis, fileSha256, encodedSha256 } = invoice;
      const answer = await answerOf(invoiceId);
      if (answer === 'unknown' && voidBasis === null) unknown.push(invoiceId);
      if (answer === 'unknown' || answer === null) return;
      if (voidBasis === 'unknown') answers.push({ kind: 'included', invoiceId });
      if (answer === 'known') return;
      const { fileHashSha256: sha256, fileSizeBytes: sizeBytes } = answer;
      if (sha256 === fileSha256 || sha256 === encodedSha256)
        answers.push({ kind: 'hash-answered', invoiceId, sha256, sizeBytes });
      else await lookUp(invoice);
    });
    await record(answers);
  }
  if (unknown.length === 0) return;
  // A service that does not know a confirmed invoice either is the wrong one, or does not work.
  const control = due.confirmed === null ? 'known' : await answerOf(due.confirmed);
  if (control === null || control === 'unknown') {
    log.warn(
      { invoices: unknown.length },
      'the billing service knows none of our invoices; none was excluded',
    );
    return;
  }
  const reason = 'Only a delivery has named it; the billing service does not know it.';
  await record(
    unknown.map((invoiceId) => ({ kind: 'excluded', invoiceId, code: 'unknown-invoice', reason })),
  );

  /** Returns null when the service does not work; nothing is concluded from that, and the run ends. */
  async function answerOf(invoiceId: string): Promise<Asked> {
    if (isAway) return null;
    try {
      return await ask(service, invoiceId);
    } catch (error) {
      if (!(error instanceof BillingError)) throw error;
      isAway = true;
      log.warn({ code: error.code }, 'the billing service cannot be asked about announced files now');
      return null;
    }
  }

  async function record(answers: readonly Answer[]): Promise<void> {
    if (answers.length > 0) await warehouse.recordAnswers(answers);
    for (const answer of answers) {
      const { kind, invoiceId } = answer;
      if (kind === 'included') alerts.resolve(alertOf(invoiceId));
      if (kind !== 'excluded') continue;
      alerts.raise({
        key: alertOf(invoiceId),
        title: `Invoice ${invoiceId} left every total: ${answer.code === 'foreign-partner' ? 'it is not ours' : 'the billing service does not know it'}`,
        detail: `${answer.reason} Somebody may have used the password of the endpoint. \`billsync invoices show ${invoiceId}\` shows its events; \`billsync invoices restore\` brings it back.`,
      });
    }
  }
}

function alertOf(invoiceId: string): AlertKey {
  return `excluded/${invoiceId}`;
}

/** The service's answer about an invoice; null is an answer that decides nothing. */
type Asked = Awaited<ReturnType<BillingService['regenerateUrl']>> | 'known' | 'unknown' | null;

/** @throws BillingError the service does not answer */
async function ask(service: BillingService, invoiceId: string): Promise<Asked> {
  try {
    return await service.regenerateUrl(invoiceId);
  } catch (error) {
    if (isBillingError(error, 'refused', 'forbidden', 'not-ready', 'server-fault')) return null;
    if (!isBillingError(error, 'not-exported')) throw error;
  }
  try {
    await service.lookUpInvoice(invoiceId);
    return 'known';
  } catch (error) {
    if (isBillingError(error, 'unknown-invoice')) return 'unknown';
    if (isBillingError(error, 'refused', 'forbidden', 'server-fault')) return null;
    throw error;
  }
}
