import { setImmediate } from 'node:timers/promises';
import type { Account } from '../../account.ts';
import type { NewInvoice } from '../../billing/new-invoice.ts';
import { EVENT_TYPES, type EventType, INTERNAL_STATUSES } from '../../model.ts';
import {
  atMost,
  brief,
  flag,
  MAX_AT_ONCE,
  type Operation,
  page,
  pageQuery,
  shape,
  text,
  textMap,
  texts,
  whole,
} from './operation.ts';

const invoiceShape = {
  tenant: text,
  partnerLevel: flag,
  sources: texts,
  shipments: { anyOf: [whole, { type: 'array', items: textMap }] },
  set: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
};

const VERBS = {
  submit: 'DRAFT to PENDING_APPROVAL; emits nothing',
  approve: 'PENDING_APPROVAL to APPROVED; exports and emits invoice_finalized',
  cancel: 'To CANCELED; emits invoice_voided',
  repair: 'Exports an approved invoice again without a fault and without an event',
} as const;

const FROM = { submit: 'DRAFT', approve: 'PENDING_APPROVAL' } as const;

export const INVOICE_OPERATIONS: readonly Operation[] = [
  {
    id: 'listTenants',
    method: 'GET',
    path: '/tenants',
    summary: 'The tenants; none for an enterprise partner',
    run: ({ billing }) => billing.tenants(),
  },
  {
    id: 'listInvoices',
    method: 'GET',
    path: '/invoices',
    summary: 'Invoices, newest first',
    query: { ...pageQuery, status: { enum: INTERNAL_STATUSES }, tenant: text },
    run: ({ billing }, { query }) => {
      const tenantId = query.tenant === undefined ? undefined : billing.tenant(String(query.tenant)).tenantId;
      const found = billing
        .invoices()
        .filter((one) => query.status === undefined || one.status === query.status)
        .filter((one) => tenantId === undefined || one.tenantId === tenantId);
      return page(found.reverse(), query).map(brief);
    },
  },
  {
    id: 'createInvoice',
    method: 'POST',
    path: '/invoices',
    summary: 'Generates an invoice in DRAFT, which emits invoice_created',
    body: shape(invoiceShape),
    status: 201,
    run: async ({ billing }, { body }) => brief(await billing.create(body as NewInvoice)),
  },
  {
    id: 'showInvoice',
    method: 'GET',
    path: '/invoices/{invoiceId}',
    summary: 'One invoice with its history and files',
    run: ({ billing }, { params }) => brief(billing.invoice(params.invoiceId ?? '')),
  },
  ...(['submit', 'approve', 'cancel', 'repair'] as const).map(
    (verb): Operation => ({
      id: `${verb}Invoice`,
      method: 'POST',
      path: `/invoices/{invoiceId}/${verb}`,
      summary: VERBS[verb],
      run: async ({ billing }, { params }) => brief(await billing[verb](params.invoiceId ?? '')),
    }),
  ),
  ...(['submit', 'approve'] as const).map(
    (verb): Operation => ({
      id: `${verb}Invoices`,
      method: 'POST',
      path: `/invoices/${verb}`,
      summary: `${VERBS[verb]}: these invoices, or without any every ${FROM[verb]} one`,
      body: shape({ invoiceIds: texts }),
      run: (account, { body }) => moveMany(account, verb, (body as { invoiceIds?: string[] }).invoiceIds),
    }),
  ),
  {
    id: 'trigger',
    method: 'POST',
    path: '/trigger',
    summary: 'Generates invoices and takes them as far as the given event',
    body: shape(
      {
        eventType: { enum: EVENT_TYPES },
        times: atMost(MAX_AT_ONCE),
        invoice: shape(invoiceShape),
      },
      ['eventType'],
    ),
    status: 201,
    run: (account, { body }) => trigger(account, body as TriggerBody),
  },
];

/** Invoices between two turns of the event loop, so that deliveries start while others are still processed. */
const MOVES_PER_TURN = 16;

/** The first refusal ends it. */
async function moveMany({ billing }: Account, verb: 'submit' | 'approve', invoiceIds?: readonly string[]) {
  const ready = () => billing.invoices().filter(({ status }) => status === FROM[verb]);
  const ids = invoiceIds ?? ready().map(({ invoiceId }) => invoiceId);
  const moved: object[] = [];
  for (const id of ids) {
    if (moved.length % MOVES_PER_TURN === 0) await setImmediate();
    const { invoiceId, invoiceNumber, status } = await billing[verb](id);
    moved.push({ invoiceId, invoiceNumber, status });
  }
  return moved;
}

interface TriggerBody {
  readonly eventType: EventType;
  readonly times?: number;
  readonly invoice?: NewInvoice;
}

/** null: the event of a new invoice is emitted automatically. */
const STEPS: Readonly<
  Record<EventType, null | ((billing: Account['billing'], invoiceId: string) => unknown)>
> = {
  invoice_created: null,
  invoice_finalized: (billing, invoiceId) => billing.finalize(invoiceId),
  invoice_voided: (billing, invoiceId) => billing.cancel(invoiceId),
};

async function trigger({ billing }: Account, { eventType, times = 1, invoice = {} }: TriggerBody) {
  const triggered: object[] = [];
  for (let made = 0; made < times; made += 1) {
    if (made % MOVES_PER_TURN === 0) await setImmediate();
    const { invoiceId } = await billing.create(invoice);
    await STEPS[eventType]?.(billing, invoiceId);
    triggered.push(brief(billing.invoice(invoiceId)));
  }
  return triggered;
}
