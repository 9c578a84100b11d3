import { setImmediate } from 'node:timers/promises';
import type { Account } from '../../account.ts';
import type { NewInvoice } from '../../billing/new-invoice.ts';
import { EVENT_TYPES, type EventType, INTERNAL_STATUSES, type InternalStatus } from '../../model.ts';
import {
  atMost,
  brief,
  field,
  flag,
  grouped,
  MAX_AT_ONCE,
  mapOf,
  oneOf,
  operation,
  type Paging,
  page,
  paging,
  text,
  texts,
  whole,
} from './operation.ts';

const COLUMNS = [
  ...['invoiceId', 'invoiceNumber', 'status', 'shipmentCount', 'totalAmount', 'currencyCode', 'tenantId'],
];
export const MOVED = ['invoiceId', 'invoiceNumber', 'status'];
const AN_ID = '66271f59-6785-4f34-b6a1-dc40606f2d81';

const invoice = {
  tenant: field(text, '--tenant <tenant>', "tenant by name, id or the partner's own id"),
  partnerLevel: field(flag, '--partner-level', 'one invoice that sums those of the tenants'),
  sources: field(texts),
  shipments: field(
    { anyOf: [whole, { type: 'array', items: mapOf(text) }] },
    '--shipments <number>',
    'rows of the invoice',
  ),
  set: field(
    mapOf({ type: ['string', 'null'] }),
    '--set <field=value>',
    'set a field of the invoice; repeatable',
    'pairs',
  ),
};

interface ListQuery extends Paging {
  readonly status?: string;
  readonly tenant?: string;
}

interface TriggerBody {
  readonly eventType: EventType;
  readonly times?: number;
  readonly invoice?: NewInvoice;
}

const MOVES = {
  submit: 'submit a draft for approval; emits nothing',
  approve: 'approve an invoice, which exports it and emits invoice_finalized',
  cancel: 'cancel an invoice, which emits invoice_voided',
  repair: 'export an approved invoice again without a fault and without an event',
} as const;
const OF_ALL = { submit: 'DRAFT', approve: 'PENDING_APPROVAL' } as const;

export const INVOICES = grouped('Invoices', [
  operation<TriggerBody>({
    route: 'POST /trigger',
    about: 'generate an invoice and take it as far as the event',
    body: {
      eventType: field(oneOf(EVENT_TYPES), '<event>', 'the event of the last step'),
      times: field(atMost(MAX_AT_ONCE), '--times <number>', 'number of invoices'),
      invoice: { fields: invoice },
    },
    required: ['eventType'],
    status: 201,
    sample: { eventType: 'invoice_finalized', invoice: { tenant: '000417', shipments: 25 } },
    command: 'trigger',
    example: 'invoice_finalized --tenant 000417 --shipments 40 --set currencyCode=EUR',
    file: 'invoice',
    print: COLUMNS,
    run: ({ billing }, { body }) => trigger(billing, body),
  }),
  ...(['submit', 'approve', 'cancel', 'repair'] as const).map((verb) => {
    const isOfAll = verb === 'submit' || verb === 'approve';
    return operation({
      route: `POST /invoices/:id/${verb}`,
      about: MOVES[verb],
      command: `${verb} ${isOfAll ? '[invoiceId]' : '<invoiceId>'}`,
      example: AN_ID,
      ...(isOfAll ? { all: `every invoice that is ready to ${verb}` } : {}),
      print: isOfAll ? MOVED : COLUMNS,
      run: async ({ billing }, { id }) => brief(await billing[verb](id)),
    });
  }),
  ...(['submit', 'approve'] as const).map((verb) =>
    operation({
      route: `POST /invoices/${verb}`,
      about: `${verb} every invoice that is ready for it`,
      run: ({ billing }) => moveAll(billing, OF_ALL[verb], verb),
    }),
  ),
  operation<object, ListQuery>({
    route: 'GET /invoices',
    about: 'list invoices, newest first',
    query: {
      status: field(oneOf(INTERNAL_STATUSES), '--status <status>', 'of this status'),
      tenant: invoice.tenant,
      ...paging,
    },
    command: 'invoices list',
    example: '--status APPROVED',
    print: COLUMNS,
    run({ billing }, { query }) {
      const tenantId = query.tenant === undefined ? undefined : billing.tenant(query.tenant).tenantId;
      const found = billing
        .invoices()
        .filter((one) => query.status === undefined || one.status === query.status)
        .filter((one) => tenantId === undefined || one.tenantId === tenantId);
      return page(found.reverse(), query).map(brief);
    },
  }),
  operation<NewInvoice>({
    route: 'POST /invoices',
    about: 'generate an invoice in DRAFT, which emits invoice_created',
    body: invoice,
    status: 201,
    sample: { tenant: '000417', shipments: 25, set: { currencyCode: 'EUR' } },
    run: async ({ billing }, { body }) => brief(await billing.create(body)),
  }),
  operation({
    route: 'GET /invoices/:id',
    about: 'show one invoice with its history and files',
    command: 'invoices show <invoiceId>',
    example: `${AN_ID} --json`,
    print: 'json',
    run: ({ billing }, { id }) => brief(billing.invoice(id)),
  }),
]);

/** The first refused invoice ends the move of all. Deliveries start while other invoices are still processed. */
async function moveAll(billing: Account['billing'], from: InternalStatus, verb: 'submit' | 'approve') {
  const moved: object[] = [];
  for (const ready of billing.invoices().filter(({ status }) => status === from)) {
    await setImmediate();
    const { invoiceId, invoiceNumber, status } = await billing[verb](ready.invoiceId);
    moved.push({ invoiceId, invoiceNumber, status });
  }
  return moved;
}

async function trigger(
  billing: Account['billing'],
  { eventType, times = 1, invoice = {} }: TriggerBody,
): Promise<object[]> {
  const triggered: object[] = [];
  for (let made = 0; made < times; made += 1) {
    await setImmediate();
    const { invoiceId } = await billing.create(invoice);
    if (eventType === 'invoice_finalized') await billing.finalize(invoiceId);
    if (eventType === 'invoice_voided') billing.cancel(invoiceId);
    triggered.push(brief(billing.invoice(invoiceId)));
  }
  return triggered;
}
