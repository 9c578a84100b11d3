/** Asks the service for the header and the file hash of an invoice whose file a person imports (spec 4.3 and 4.4). */

import type { InvoiceHeader, WebhookStatus } from '../lib/wire/names.ts';
import type { BillingService } from './billing-service.ts';
import {
  NotExportedError,
  NotReadyError,
  RefusedError,
  ServerFaultError,
  UnexpectedAnswerError,
  UnknownInvoiceError,
} from './errors.ts';

export interface DescribedInvoice {
  readonly status: WebhookStatus | null;
  readonly header: Partial<InvoiceHeader>;
  /** null: the service has no file, or does not answer for it. */
  readonly hash: { readonly sha256: string; readonly sizeBytes: number } | null;
}

/** @returns null: the service does not know the invoice. @throws BillingError when it cannot be asked */
export async function describeInvoice(
  service: BillingService,
  invoiceId: string,
): Promise<DescribedInvoice | null> {
  try {
    const { status, header } = await service.lookUpInvoice(invoiceId);
    return { status, header, hash: status === 'voided' ? null : await hashOf(service, invoiceId) };
  } catch (error) {
    if (error instanceof UnknownInvoiceError) return null;
    throw error;
  }
}

async function hashOf(service: BillingService, invoiceId: string): Promise<DescribedInvoice['hash']> {
  try {
    const { fileHashSha256: sha256, fileSizeBytes: sizeBytes } = await service.regenerateUrl(invoiceId);
    return /^[0-9a-f]{64}$/.test(sha256) && Number.isSafeInteger(sizeBytes) ? { sha256, sizeBytes } : null;
  } catch (error) {
    if (NO_ANSWER.some((type) => error instanceof type)) return null;
    throw error;
  }
}

/** The service is there, and this question has no answer. */
const NO_ANSWER = [NotExportedError, NotReadyError, RefusedError, ServerFaultError, UnexpectedAnswerError];
