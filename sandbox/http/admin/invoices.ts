import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Account } from '../../account.ts';
import type { NewInvoice } from '../../billing/new-invoice.ts';
import { EVENT_TYPES, type EventType, INTERNAL_STATUSES, type InternalStatus } from '../../model.ts';
import {
  answer201,
  atMost,
  type ById,
  bodyOf,
  flag,
  MAX_AT_ONCE,
  type PageQuery,
  pageOf,
  pageQuery,
  queryOf,
  shape,
  text,
  textList,
  textMap,
  wholeNumber,
  withoutRows,
} from './shapes.ts';

const invoiceShape = {
  tenant: text,
  partnerLevel: flag,
  sources: textList,
  shipments: { anyOf: [wholeNumber, { type: 'array', items: textMap }] },
  set: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
};
const triggerShape = {
  eventType: { enum: EVENT_TYPES },
  times: atMost(MAX_AT_ONCE),
  invoice: shape(invoiceShape),
};

interface ListQuery extends PageQuery {
  readonly status?: string;
  readonly tenant?: string;
}

export function invoiceRoutes(app: FastifyInstance, { billing }: Account): void {
  app.get('/tenants', async () => billing.tenants());
  app.get<{ Querystring: ListQuery }>(
    '/invoices',
    queryOf({ ...pageQuery, status: { enum: INTERNAL_STATUSES }, tenant: text }),
    async ({ query }) => {
      const tenantId = query.tenant === undefined ? undefined : billing.tenant(query.tenant).tenantId;
      const found = billing
        .invoices()
        .filter((one) => query.status === undefined || one.status === query.status)
        .filter((one) => tenantId === undefined || one.tenantId === tenantId);
      return pageOf(found.reverse(), query).map(withoutRows);
    },
  );
  app.post<{ Body: NewInvoice }>('/invoices', { ...bodyOf(invoiceShape), ...answer201 }, async ({ body }) =>
    withoutRows(await billing.create(body)),
  );
  app.get<ById>('/invoices/:id', async ({ params }) => withoutRows(billing.invoice(params.id)));
  for (const verb of ['submit', 'approve', 'cancel', 'repair'] as const) {
    app.post<ById>(`/invoices/:id/${verb}`, async ({ params }) =>
      withoutRows(await billing[verb](params.id)),
    );
  }
  app.post('/invoices/submit', () => moveAll(billing, 'DRAFT', 'submit'));
  app.post('/invoices/approve', () => moveAll(billing, 'PENDING_APPROVAL', 'approve'));
  app.post<{ Body: TriggerBody }>(
    '/trigger',
    { ...bodyOf(triggerShape, ['eventType']), ...answer201 },
    ({ body }) => trigger(billing, body),
  );
}

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

interface TriggerBody {
  readonly eventType: EventType;
  readonly times?: number;
  readonly invoice?: NewInvoice;
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
    triggered.push(withoutRows(billing.invoice(invoiceId)));
  }
  return triggered;
}
