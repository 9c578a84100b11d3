/**
 * What only a delivery states is confirmed with the service in the background, so that loading does not wait (ADR 17): files that only
 * an event has named, and events that were forwarded before our partner was known.
 */

import type { BillingService } from '../billing/billing-service.ts';
import { BillingError, isBillingError } from '../billing/errors.ts';
import type { AlertKey } from '../lib/alerts/alert-names.ts';
import { forEachBounded } from '../lib/semaphore.ts';
import type { DueInvoice } from '../lib/warehouse-requests.ts';
import type { WarehouseDependencies } from './dependencies.ts';

export type ConfirmDependencies = Pick<
  WarehouseDependencies,
  'warehouse' | 'service' | 'alerts' | 'log' | 'settings' | 'now'
>;

const LIMIT = 1_000;
const CALLS_AT_ONCE = 4;
const DAY_MS = 86_400_000;

/** @param lookUp starts the workflow of an invoice whose file the service names differently */
export async function confirmAnnounced(
  { warehouse, service, alerts, log, settings, now }: ConfirmDependencies,
  lookUp: (invoice: DueInvoice) => Promise<void>,
): Promise<void> {
  if (settings.service.baseUrl === null) return;
  const ours = settings.partnerId === null ? service.partnerIds() : [settings.partnerId];
  const since = new Date(now().getTime() - DAY_MS).toISOString();
  const due = await warehouse.unconfirmed({ partnerId: ours[0] ?? null, since, limit: LIMIT });
  const known = new Set(ours.map((partnerId) => partnerId.toLowerCase()));
  for (const { invoiceId, partnerId, voidBasis } of ours.length === 0 ? [] : due.unchecked) {
    const isForeign = !known.has(partnerId.toLowerCase());
    if (isForeign && voidBasis !== 'foreign')
      await exclude(invoiceId, 'foreign-partner', `It is of partner ${partnerId}, which is not ours.`);
    else if (!isForeign && voidBasis === 'foreign') await include(invoiceId);
  }
  const unknown: string[] = [];
  let isAway = false;
  await forEachBounded(due.announced, CALLS_AT_ONCE, async (invoice) => {
    const { invoiceId, voidBasis, fileSha256, encodedSha256 } = invoice;
    const answer = await answerOf(invoiceId);
    if (answer === 'unknown') {
      if (voidBasis === null) unknown.push(invoiceId);
      return;
    }
    if (answer === null) return;
    if (voidBasis === 'unknown') await include(invoiceId);
    if (answer === 'known') return;
    const { fileHashSha256: sha256, fileSizeBytes: sizeBytes } = answer;
    if (sha256 === fileSha256 || sha256 === encodedSha256)
      await warehouse.recordHash({ invoiceId, sha256, sizeBytes });
    else await lookUp(invoice);
  });
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
  for (const invoiceId of unknown)
    await exclude(
      invoiceId,
      'unknown-invoice',
      'Only a delivery has named it; the billing service does not know it.',
    );

  /** Returns null when the service does not work; nothing is concluded from that, and the run ends. */
  async function answerOf(invoiceId: string): Promise<Answer> {
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

  async function exclude(
    invoiceId: string,
    code: 'unknown-invoice' | 'foreign-partner',
    reason: string,
  ): Promise<void> {
    await warehouse.exclude(invoiceId, { code, reason });
    alerts.raise({
      key: alertOf(invoiceId),
      title: `Invoice ${invoiceId} left every total: ${code === 'foreign-partner' ? 'it is not ours' : 'the billing service does not know it'}`,
      detail: `${reason} Somebody may have used the password of the endpoint. \`billsync invoices show ${invoiceId}\` shows its events; \`billsync invoices restore\` brings it back.`,
    });
  }

  async function include(invoiceId: string): Promise<void> {
    await warehouse.exclude(invoiceId, null);
    alerts.resolve(alertOf(invoiceId));
  }
}

function alertOf(invoiceId: string): AlertKey {
  return `excluded/${invoiceId}`;
}

/** The service's answer about an invoice; null is an answer that decides nothing. */
type Answer = Awaited<ReturnType<BillingService['regenerateUrl']>> | 'known' | 'unknown' | null;

/** @throws BillingError the service does not answer */
async function ask(service: BillingService, invoiceId: string): Promise<Answer> {
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
