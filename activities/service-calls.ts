import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { partnerAskedFor } from '../billing/billing-service.ts';
import { BillingError, isBillingError } from '../billing/errors.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import { serviceError } from '../lib/wire/service-errors.ts';
import { isWarehouseError } from '../warehouse/errors.ts';
import type { BillingActivities, DownloadCsvRequest, LoadInvoiceResult } from '../workflows/activities.ts';
import type { BillingDependencies } from './dependencies.ts';

/** Fewer refusals in a row raise no alert, because a service in trouble answers 400 and 403 for a moment too. */
const MIN_REFUSALS = 3;
/** A file of this size has about seven thousand shipments. A larger one would delay other downloads while it is loaded. */
const MAX_LOADED_AT_ONCE_BYTES = 1024 * 1024;

export function createServiceActivities({
  service,
  alerts,
  log,
  loadInvoice,
}: BillingDependencies): Pick<
  BillingActivities,
  'fetchToken' | 'lookUpInvoice' | 'regenerateUrl' | 'downloadCsv' | 'exportCsv'
> {
  return {
    // Ping is optional (spec 4.2). A cached token, or an API key, proves nothing.
    fetchToken: () =>
      alertRefusedCredentials(alerts, () => service.fetchToken({ signal: cancellationSignal() }), {
        isProof: false,
      }),

    async lookUpInvoice({ invoiceId }) {
      try {
        const lookUp = () => service.lookUpInvoice(invoiceId, { signal: cancellationSignal() });
        const details = await alertRefusedCredentials(alerts, lookUp);
        alerts.resolve(DETAILS_ALERT, { subject: invoiceId });
        return { outcome: 'found', ...details, partnerId: partnerAskedFor(service) };
      } catch (error) {
        if (isBillingError(error, 'unknown-invoice')) {
          alerts.resolve(DETAILS_ALERT, { subject: invoiceId });
          return { outcome: 'not-found' };
        }
        if (error instanceof BillingError) alertUnreadableDetails(alerts, invoiceId, error);
        throw error;
      }
    },

    async regenerateUrl({ invoiceId }) {
      try {
        const regenerate = () => service.regenerateUrl(invoiceId, { signal: cancellationSignal() });
        const location = await alertRefusedCredentials(alerts, regenerate);
        return { outcome: 'location', location, partnerId: partnerAskedFor(service) };
      } catch (error) {
        if (isBillingError(error, 'not-exported')) return { outcome: 'not-exported' };
        if (activityInfo().attempt < MIN_REFUSALS) throw error;
        for (const outcome of ['refused', 'forbidden'] as const) {
          if (isBillingError(error, outcome)) return { outcome, message: error.message };
        }
        throw error;
      }
    },

    async downloadCsv(request) {
      try {
        const download = () => service.downloadCsv(request, { signal: cancellationSignal() });
        const file = await alertFullDisk(alerts, request.invoiceId, download);
        const { sha256, sizeBytes } = file;
        const loaded = await loadAtOnce(request, file);
        const fetched = { outcome: 'fetched', sha256, sizeBytes, announcedSha256: sha256 } as const;
        return loaded === null ? fetched : { ...fetched, loaded };
      } catch (error) {
        if (isBillingError(error, 'hash-mismatch', 'size-mismatch')) {
          return { outcome: 'mismatch', message: error.message };
        }
        for (const outcome of ['url-refused', 'host-not-allowed', 'impossible-announcement'] as const) {
          if (isBillingError(error, outcome)) return { outcome, message: error.message };
        }
        throw error;
      }
    },

    async exportCsv({ invoiceId, unless }) {
      try {
        const options = { signal: cancellationSignal(), ...(unless === undefined ? {} : { unless }) };
        const { sha256, sizeBytes, tag } = await alertRefusedCredentials(alerts, () =>
          alertFullDisk(alerts, invoiceId, () => service.exportCsv(invoiceId, options)),
        );
        return { outcome: 'fetched', sha256, sizeBytes, ...(tag === undefined ? {} : { tag }) };
      } catch (error) {
        if (isBillingError(error, 'unknown-invoice')) return { outcome: 'not-found' };
        if (isBillingError(error, 'not-modified')) return { outcome: 'not-modified' };
        throw error;
      }
    },
  };

  /** Returns null when the workflow has to load the file, with the retries of a load. */
  async function loadAtOnce(
    { invoiceId, location, source, eventId }: DownloadCsvRequest,
    { sha256, sizeBytes }: ArchivedFile,
  ): Promise<LoadInvoiceResult | null> {
    if (loadInvoice === undefined || sizeBytes > MAX_LOADED_AT_ONCE_BYTES) return null;
    const announced = location.fileHashSha256;
    try {
      return await loadInvoice({
        ...{ invoiceId, sha256, source, announcedSha256: sha256, eventId },
        encodedSha256: announced === sha256 ? null : announced,
        workflowRunId: activityInfo().workflowExecution?.runId ?? null,
      });
    } catch (error) {
      log.debug({ invoiceId, sha256, err: error }, 'a downloaded file is loaded separately');
      return null;
    }
  }
}

export async function alertRefusedCredentials<T>(
  alerts: Alerts,
  call: () => Promise<T>,
  { isProof }: { readonly isProof: boolean } = { isProof: true },
): Promise<T> {
  try {
    const answer = await call();
    if (isProof) alerts.resolve('credentials');
    return answer;
  } catch (error) {
    if (isBillingError(error, 'credentials-refused')) {
      const detail = [error.message, error.hint].filter(Boolean).join(' ');
      alerts.raise({ key: 'credentials', title: 'The billing service refuses our credentials', detail });
    }
    throw error;
  }
}

const DETAILS_ALERT = 'service/details';

/** Invoices are loaded although details cannot be read, so nothing else shows that voids would go unnoticed. */
function alertUnreadableDetails(alerts: Alerts, invoiceId: string, { code, message }: BillingError): void {
  const { reaction, scope } = serviceError(code) ?? { reaction: 'retry', scope: 'service' };
  if (reaction === 'retry' || scope === 'service') return;
  const detail = `${message} Invoices are loaded all the same; a void whose event was lost is not found meanwhile.`;
  const title = 'The details of invoices cannot be read';
  // A refusal that concerns every invoice is over as soon as the endpoint answers about any of them.
  alerts.raise({ key: DETAILS_ALERT, title, detail }, scope === 'invoice' ? invoiceId : undefined);
}

/** A small file that fits does not end the alert, because a large one may still not fit. */
export async function alertFullDisk<T>(
  alerts: Alerts,
  invoiceId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const done = await work();
    alerts.resolve('disk/no-room', { subject: invoiceId });
    return done;
  } catch (error) {
    if (isBillingError(error, 'disk-full') || isWarehouseError(error, 'no-room')) {
      const detail = `${error.message} Free some space; loading then continues automatically.`;
      const title = 'The disk has too little space for a file of an invoice';
      alerts.raise({ key: 'disk/no-room', title, detail }, invoiceId);
    }
    throw error;
  }
}
