/** What other roles may say to the invoice workflows; every call ends within its deadline, and retries are the caller's. */

import type { Client } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import {
  type EnvironmentName,
  type InvoiceEvent,
  invoiceWorkflowId,
  rankOfEvent,
  taskQueues,
} from '../../lib/wire/names.ts';
import type { invoice } from '../invoice.ts';
import {
  type InvoiceInput,
  invoiceEventSignal,
  type LookUpRequest,
  lookUpSignal,
  retrySignal,
} from '../messages.ts';
import type { Pace } from '../pace.ts';
import { environmentKey, invoiceStateKey, tenantIdKey } from '../search-attribute-keys.ts';

/** The part of the settings that names workflows and queues. */
export interface InvoiceRoute {
  readonly environment: EnvironmentName;
  /** The first wait of drafts, BILLSYNC_OVERDUE_AFTER; missing: the workflow's defaults. */
  readonly overdueAfter?: readonly string[];
  /** BILLSYNC_CONFIRM_VOIDS; missing: they are confirmed. */
  readonly confirmVoids?: boolean;
  /** Instead of the environment's queue; tests that share a server keep apart by it. */
  readonly queues?: { readonly billing: string; readonly warehouse: string };
  /** For tests: how patient new runs are. */
  readonly pace?: Partial<Pace>;
}

export interface InvoiceAddress {
  readonly partnerId: string;
  readonly invoiceId: string;
}

/**
 * Gives an event to its invoice's workflow, and starts one when none runs. At least once is enough: the workflow
 * drops what it has seen.
 *
 * @throws whatever Temporal says; nothing is retried here beyond the call's deadline of 5 s
 */
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
 * Nothing has to be done about a draft until it is overdue, or something else is said: its run begins then (ADR 1). Whatever is said
 * by `signalWithStart` begins it at once. A server that knows no such delay begins it now, and the run waits by itself.
 */
function delayOf(
  { eventType, export: location }: InvoiceEvent,
  route: InvoiceRoute,
): { readonly startDelay?: Duration } {
  const [startDelay] = invoicePace(route)?.overdueAfter ?? [];
  const isDraft = rankOfEvent(eventType) === 'draft' && location === null;
  return isDraft && startDelay !== undefined ? { startDelay } : {};
}

/** Has the service asked about an invoice now, whether or not anything was ever heard of it. */
export async function lookUpInvoice(
  client: Client,
  route: InvoiceRoute,
  address: InvoiceAddress,
  request: LookUpRequest,
): Promise<void> {
  await client.workflow.signalWithStart<typeof invoice, [LookUpRequest]>('invoice', {
    ...startOptions(route, address, null),
    signal: lookUpSignal,
    signalArgs: [request],
  });
}

/** Starts a run that asks the service, unless one is open: open runs watch themselves by timers. */
export async function watchInvoice(
  client: Client,
  route: InvoiceRoute,
  address: InvoiceAddress,
): Promise<void> {
  const { args, ...options } = startOptions(route, address, null);
  await client.workflow.start<typeof invoice>('invoice', {
    ...options,
    args: [{ ...args[0], lookUp: { cause: 'reconcile' } }],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

/** Tries again what needs attention; starts a run when none is open, which then asks the service. */
export async function retryInvoice(
  client: Client,
  route: InvoiceRoute,
  address: InvoiceAddress,
  requestedBy: 'person' | 'reconcile' = 'person',
): Promise<void> {
  await client.workflow.signalWithStart<typeof invoice, [{ requestedBy: 'person' | 'reconcile' }]>(
    'invoice',
    {
      ...startOptions(route, address, null),
      signal: retrySignal,
      signalArgs: [{ requestedBy }],
    },
  );
}

export function invoicePace(route: InvoiceRoute): Partial<Pace> | undefined {
  const overdueAfter = route.overdueAfter as Pace['overdueAfter'] | undefined;
  const pace = {
    ...(overdueAfter ? { overdueAfter } : {}),
    // What is the default anyway need not stand in every history.
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
