/** Keeps what the details endpoint answered; a rebuild cannot ask it again. */

import type { InvoiceHeader } from '../contract/invoice-event.js';
import type { WebhookStatus } from '../contract/names.js';
import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';

export interface RecordDetailsRequest {
  readonly invoiceId: string;
  readonly status: WebhookStatus | null;
  readonly header: Partial<InvoiceHeader>;
}

export function recordDetails({ warehouse }: WarehouseDependencies) {
  return (details: RecordDetailsRequest): Promise<void> => translated(() => warehouse.recordDetails(details));
}
