/** Has several invoices looked up, each by its own workflow, which answers the workflow that asked. */

import { getClient } from '@temporalio/activity';
import type { EnvironmentName } from '../lib/wire/names.ts';
import { type InvoiceRoute, lookUpInvoice } from '../workflows/client/invoice-client.ts';
import type { Pace } from '../workflows/pace.ts';
import { translated } from './failures.ts';

export interface InvoiceToLookUp {
  readonly invoiceId: string;
  readonly isFileInDoubt: boolean;
}

export interface StartLookUpsRequest {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  readonly invoices: readonly InvoiceToLookUp[];
  /** The workflow to signal with the outcome of each. */
  readonly replyTo: string;
  readonly billingQueue: string;
  readonly pace?: Partial<Pace>;
}

/** Repeating it is harmless: an invoice that is asked for twice answers twice, and only one answer counts. */
export function startLookUps() {
  return (request: StartLookUpsRequest): Promise<void> =>
    translated(async () => {
      const { environment, partnerId, replyTo, billingQueue, pace } = request;
      const route: InvoiceRoute = {
        ...{ environment, queues: queuesBeside(billingQueue) },
        ...(pace ? { pace } : {}),
      };
      const client = getClient();
      await Promise.all(
        request.invoices.map(({ invoiceId, isFileInDoubt }) =>
          lookUpInvoice(
            client,
            route,
            { partnerId, invoiceId },
            { cause: 'backfill', replyTo, isFileInDoubt },
          ),
        ),
      );
    });
}

function queuesBeside(billing: string) {
  return { billing, warehouse: billing.replace(/-billing$/, '-warehouse') };
}
