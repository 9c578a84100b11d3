import type { Client } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { type EnvironmentName, invoiceWorkflowId, rankOfEvent, taskQueues } from '../../lib/wire/names.ts';
import type { invoice } from '../invoice.ts';
import {
  environmentKey,
  type InvoiceInput,
  invoiceEventSignal,
  invoiceStateKey,
  type LookUpRequest,
  lookUpSignal,
  type RetryRequest,
  retrySignal,
  tenantIdKey,
} from '../messages.ts';
import type { Pace } from '../pace.ts';

export interface InvoiceRoute {
  readonly environment: EnvironmentName;
  /** The value of BILLSYNC_OVERDUE_AFTER; absent means the workflow's default. */
  readonly overdueAfter?: readonly string[];
  /** The value of BILLSYNC_CONFIRM_VOIDS; absent means true. */
  readonly confirmVoids?: boolean;
  readonly queues?: { readonly billing: string; readonly warehouse: string };
  readonly pace?: Partial<Pace>;
}

export interface InvoiceAddress {
  readonly partnerId: string;
  readonly invoiceId: string;
}

/** Starts a workflow if none is open. Safe to repeat. @throws the errors of Temporal's client, within 5 s */
export async function sendInvoiceEvent(
  client: Client,
  route: InvoiceRoute,
  event: InvoiceEvent,
): Promise<void> {
  const { partnerId, invoice: header } = event;
  const address = { partnerId, invoiceId: header.invoiceId };
  await client.workflow.signalWithStart<typeof invoice, [InvoiceEvent]>('invoice', {
    ...startOptions(route, address, header.tenantId ?? null),
    ...delayOf(event, route),
    signal: invoiceEventSignal,
    signalArgs: [event],
  });
}

/**
 * Delays the run of a draft until the draft is overdue (ADR 1). Any other signal starts it at once. A server without
 * support for the delay starts it now, and the run waits itself.
 */
function delayOf(
  { eventType, export: location }: InvoiceEvent,
  route: InvoiceRoute,
): { readonly startDelay?: Duration } {
  const [startDelay] = invoicePace(route)?.overdueAfter ?? [];
  const isDraft = rankOfEvent(eventType) === 'draft' && location === null;
  return isDraft && startDelay !== undefined ? { startDelay } : {};
}

export async function lookUpInvoice(
  client: Client,
  route: InvoiceRoute,
  address: InvoiceAddress,
  request: LookUpRequest = {},
): Promise<void> {
  await client.workflow.signalWithStart<typeof invoice, [LookUpRequest]>('invoice', {
    ...startOptions(route, address, null),
    signal: lookUpSignal,
    signalArgs: [request],
  });
}

/** Starts a run that watches the invoice; one that is open already has its own timers and is left alone. */
export async function watchInvoice(
  client: Client,
  route: InvoiceRoute,
  address: InvoiceAddress,
): Promise<void> {
  const { args, ...options } = startOptions(route, address, null);
  await client.workflow.start<typeof invoice>('invoice', {
    ...options,
    args: [{ ...args[0], lookUp: {} }],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

export async function retryInvoice(
  client: Client,
  route: InvoiceRoute,
  address: InvoiceAddress,
  requestedBy: RetryRequest['requestedBy'] = 'person',
): Promise<void> {
  await client.workflow.signalWithStart<typeof invoice, [RetryRequest]>('invoice', {
    ...startOptions(route, address, null),
    signal: retrySignal,
    signalArgs: [{ requestedBy }],
  });
}

export function invoicePace(route: InvoiceRoute): Partial<Pace> | undefined {
  const overdueAfter = route.overdueAfter as Pace['overdueAfter'] | undefined;
  const pace = {
    ...(overdueAfter ? { overdueAfter } : {}),
    // The default value is left out, so that histories do not contain it.
    ...(route.confirmVoids === false ? { confirmVoids: false } : {}),
    ...route.pace,
  };
  return Object.keys(pace).length === 0 ? undefined : pace;
}

function startOptions(route: InvoiceRoute, address: InvoiceAddress, tenantId: string | null) {
  const { environment } = route;
  const pace = invoicePace(route);
  const input: InvoiceInput = { environment, ...address, ...(pace ? { pace } : {}) };
  return {
    workflowId: invoiceWorkflowId({ environment, ...address }),
    taskQueue: (route.queues ?? taskQueues(environment)).billing,
    args: [input] as [InvoiceInput],
    typedSearchAttributes: [
      { key: environmentKey, value: environment },
      { key: invoiceStateKey, value: 'draft' },
      ...(tenantId === null ? [] : [{ key: tenantIdKey, value: tenantId }]),
    ],
  };
}
