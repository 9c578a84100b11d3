/**
 * What the admin API can do, as one table: method, path, words, shape of the body, and the work. The routes and
 * the OpenAPI document are both made from it, so neither can say what the other does not.
 */
import type { Account } from '../account.js';
import { FAULTS } from '../fault-catalogue.js';
import { type NewFault, PLACES } from '../faults.js';
import { MALFORMATIONS } from '../malformed-csv.js';
import { EVENT_TYPES, type EventType, INTERNAL_STATUSES, type Invoice, type Registration } from '../model.js';
import type { NewInvoice } from '../new-invoice.js';
import { RefusalError } from '../refusal.js';
import type { NewRegistration } from '../registrations.js';
import type { NewSchedule } from '../schedules.js';

export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /admin; `{name}` is a path parameter. */
  readonly path: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, QuerySchema>>;
  readonly body?: object;
  readonly status?: 201 | 204;
  readonly run: (account: Account, call: Call) => unknown;
}

/** What a query parameter may be: a word, one of some words, or a whole number. */
export interface QuerySchema {
  readonly type?: 'string' | 'integer';
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Parameters, query and body of a request, checked against the operation's schemas. */
export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number | undefined>>;
  readonly body: unknown;
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' };
const whole = { type: 'integer', minimum: 0 } as const;
const texts = { type: 'array', items: text };
const textMap = { type: 'object', additionalProperties: text };

function shape(properties: Record<string, object>, required: readonly string[] = []): object {
  return { type: 'object', properties, required, additionalProperties: false };
}

const tenantsShape = { anyOf: [{ const: 'all' }, texts] };
const registrationShape = {
  name: text,
  url: text,
  eventTypes: { type: 'array', items: { enum: EVENT_TYPES } },
  tenants: tenantsShape,
  headers: textMap,
  caPem: { type: ['string', 'null'] },
};
const scheduleShape = {
  name: text,
  enabled: flag,
  everySeconds: { type: ['number', 'null'] },
  level: { enum: ['tenant', 'partner'] },
  tenants: tenantsShape,
  autoApprove: flag,
  tenantOverrides: { type: 'object', additionalProperties: flag },
  shipments: whole,
};
const invoiceShape = {
  tenant: text,
  partnerLevel: flag,
  sources: texts,
  shipments: { anyOf: [whole, { type: 'array', items: textMap }] },
  set: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
};
const faultShape = {
  name: text,
  rate: { type: 'number' },
  count: { type: 'integer' },
  after: whole,
  seed: { type: 'integer' },
  forMs: { type: 'number' },
  params: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  target: shape({
    invoiceId: text,
    tenant: text,
    eventType: text,
    registrationId: text,
    endpoint: { anyOf: [{ enum: PLACES }, { type: 'array', items: { enum: PLACES } }] },
  }),
};
const VERBS = {
  submit: 'DRAFT to PENDING_APPROVAL; emits nothing',
  approve: 'PENDING_APPROVAL to APPROVED; exports and emits invoice_finalized',
  cancel: 'To CANCELED; emits invoice_voided',
  repair: 'Exports an approved invoice again, rightly, without an event',
} as const;
const pageQuery = { limit: whole, offset: whole };

export const OPERATIONS: readonly Operation[] = [
  {
    id: 'status',
    method: 'GET',
    path: '/status',
    summary: 'The account: partner, tenants, and how much of everything there is',
    run: ({ environment, partner, billing, deliveries, registrations, faults, now }) => ({
      environment,
      partner,
      now: now().toISOString(),
      invoices: billing.invoices().length,
      registrations: registrations.list().length,
      deliveries: deliveries.list().length,
      pendingDeliveries: deliveries.list().filter(({ state }) => state === 'pending').length,
      faults: faults.list().length,
    }),
  },
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
  {
    id: 'trigger',
    method: 'POST',
    path: '/trigger',
    summary: 'Generates invoices and takes them as far as the event asked for',
    body: shape(
      {
        eventType: { enum: EVENT_TYPES },
        times: { type: 'integer', minimum: 1 },
        invoice: shape(invoiceShape),
      },
      ['eventType'],
    ),
    status: 201,
    run: (account, { body }) => trigger(account, body as TriggerBody),
  },
  {
    id: 'listRegistrations',
    method: 'GET',
    path: '/registrations',
    summary: 'The summary list of webhook registrations; values of headers are masked',
    run: ({ registrations }) => registrations.list().map(masked),
  },
  {
    id: 'addRegistration',
    method: 'POST',
    path: '/registrations',
    summary: 'Registers a webhook, inactive at first; active enables it at once',
    body: shape({ ...registrationShape, active: flag }, ['name', 'url']),
    status: 201,
    run: ({ registrations }, { body }) => {
      const { active = false, ...settings } = body as NewRegistration & { active?: boolean };
      const added = registrations.add(settings);
      return masked(active ? registrations.setActive(added.registrationId, true) : added);
    },
  },
  {
    id: 'showRegistration',
    method: 'GET',
    path: '/registrations/{registrationId}',
    summary: 'One webhook registration',
    run: ({ registrations }, { params }) => masked(registrations.get(params.registrationId ?? '')),
  },
  {
    id: 'editRegistration',
    method: 'PATCH',
    path: '/registrations/{registrationId}',
    summary: 'Changes settings of a registration; headers are replaced as a whole',
    body: shape(registrationShape),
    run: ({ registrations }, { params, body }) =>
      masked(registrations.edit(params.registrationId ?? '', body as Partial<NewRegistration>)),
  },
  {
    id: 'deleteRegistration',
    method: 'DELETE',
    path: '/registrations/{registrationId}',
    summary: 'Deletes a registration',
    status: 204,
    run: ({ registrations }, { params }) => registrations.delete(params.registrationId ?? ''),
  },
  ...(['enable', 'disable'] as const).map(
    (verb): Operation => ({
      id: `${verb}Registration`,
      method: 'POST',
      path: `/registrations/{registrationId}/${verb}`,
      summary: verb === 'enable' ? 'Makes a registration active' : 'Makes a registration inactive',
      run: ({ registrations }, { params }) =>
        masked(registrations.setActive(params.registrationId ?? '', verb === 'enable')),
    }),
  ),
  {
    id: 'sendTestEvent',
    method: 'POST',
    path: '/registrations/{registrationId}/test-event',
    summary: 'Sends a test payload, to an inactive registration as well',
    body: shape({ eventType: { enum: EVENT_TYPES } }),
    run: ({ billing }, { params, body }) =>
      billing.testEvent(params.registrationId ?? '', (body as { eventType?: EventType }).eventType),
  },
  {
    id: 'listSchedules',
    method: 'GET',
    path: '/schedules',
    summary: 'Billing schedules',
    run: ({ schedules }) => schedules.list(),
  },
  {
    id: 'addSchedule',
    method: 'POST',
    path: '/schedules',
    summary: 'Creates a billing schedule',
    body: shape(scheduleShape, ['name']),
    status: 201,
    run: ({ schedules }, { body }) => schedules.add(body as NewSchedule),
  },
  {
    id: 'editSchedule',
    method: 'PATCH',
    path: '/schedules/{scheduleId}',
    summary: 'Changes settings of a billing schedule',
    body: shape(scheduleShape),
    run: ({ schedules }, { params, body }) =>
      schedules.edit(params.scheduleId ?? '', body as Partial<NewSchedule>),
  },
  {
    id: 'deleteSchedule',
    method: 'DELETE',
    path: '/schedules/{scheduleId}',
    summary: 'Deletes a billing schedule; its invoices stay',
    status: 204,
    run: ({ schedules }, { params }) => schedules.delete(params.scheduleId ?? ''),
  },
  {
    id: 'runSchedule',
    method: 'POST',
    path: '/schedules/{scheduleId}/run',
    summary: "Generates the schedule's invoices now",
    run: async ({ schedules }, { params }) => (await schedules.run(params.scheduleId ?? '')).map(brief),
  },
  {
    id: 'listEvents',
    method: 'GET',
    path: '/events',
    summary: 'Events as they were emitted, newest first; body is the exact text',
    query: { ...pageQuery, invoiceId: text },
    run: ({ store }, { query }) => {
      const events = [...store.all('event').values()].reverse();
      return page(
        events.filter((one) => query.invoiceId === undefined || one.invoiceId === query.invoiceId),
        query,
      );
    },
  },
  {
    id: 'resendEvent',
    method: 'POST',
    path: '/events/{eventId}/resend',
    summary: 'Delivers an event once more, to all who hear of it or to one registration',
    body: shape({ registrationId: text }),
    run: ({ billing }, { params, body }) =>
      billing.resend(params.eventId ?? '', (body as { registrationId?: string }).registrationId),
  },
  {
    id: 'listDeliveries',
    method: 'GET',
    path: '/deliveries',
    summary: 'The delivery log, newest first, with every attempt',
    query: { ...pageQuery, invoiceId: text, state: { enum: ['pending', 'delivered', 'failed', 'dropped'] } },
    run: ({ deliveries }, { query }) => {
      const log = [...deliveries.list()].reverse();
      return page(
        log
          .filter((one) => query.invoiceId === undefined || one.invoiceId === query.invoiceId)
          .filter((one) => query.state === undefined || one.state === query.state),
        query,
      );
    },
  },
  {
    id: 'showDelivery',
    method: 'GET',
    path: '/deliveries/{deliveryId}',
    summary: 'One delivery with the payload it carried',
    run: ({ store }, { params }) => {
      const delivery = store.get('delivery', params.deliveryId ?? '');
      if (delivery === undefined) throw new RefusalError('not_found', 'There is no such delivery.');
      return { ...delivery, body: store.get('event', delivery.eventId)?.body ?? null };
    },
  },
  {
    id: 'listFaults',
    method: 'GET',
    path: '/faults',
    summary: 'Fault rules with how often each struck',
    run: ({ faults }) => faults.list(),
  },
  {
    id: 'addFault',
    method: 'POST',
    path: '/faults',
    summary: 'Switches a fault on',
    body: shape(faultShape, ['name']),
    status: 201,
    run: ({ faults }, { body }) => faults.add(body as NewFault),
  },
  {
    id: 'clearFaults',
    method: 'DELETE',
    path: '/faults',
    summary: 'Switches all faults off',
    status: 204,
    run: ({ faults }) => faults.clear(),
  },
  {
    id: 'clearFault',
    method: 'DELETE',
    path: '/faults/{faultId}',
    summary: 'Switches one fault off',
    status: 204,
    run: ({ faults }, { params }) => faults.clear(params.faultId),
  },
  {
    id: 'faultCatalogue',
    method: 'GET',
    path: '/fault-catalogue',
    summary: 'Every fault by name, and every kind of malformed CSV',
    run: () => ({
      faults: Object.entries(FAULTS).map(([name, definition]) => ({ name, ...definition })),
      malformations: Object.entries(MALFORMATIONS).map(([kind, { description }]) => ({ kind, description })),
    }),
  },
  {
    id: 'listApiKeys',
    method: 'GET',
    path: '/api-keys',
    summary: 'API keys',
    run: (account) => account.apiKeys(),
  },
  {
    id: 'addApiKey',
    method: 'POST',
    path: '/api-keys',
    summary: 'Creates an API key',
    body: shape({ name: text }, ['name']),
    status: 201,
    run: (account, { body }) => account.addApiKey((body as { name: string }).name),
  },
  {
    id: 'deactivateApiKey',
    method: 'POST',
    path: '/api-keys/{keyId}/deactivate',
    summary: 'Deactivates an API key for good',
    run: (account, { params }) => account.deactivateApiKey(params.keyId ?? ''),
  },
  {
    id: 'revokeTokens',
    method: 'POST',
    path: '/revoke-tokens',
    summary: 'Makes every access token issued so far invalid',
    status: 204,
    run: (account) => account.revokeTokens(),
  },
  {
    id: 'listActivity',
    method: 'GET',
    path: '/activity',
    summary: 'What happened after a line that is known, oldest first',
    query: { after: whole },
    run: ({ activity }, { query }) => activity.after(Number(query.after ?? 0)),
  },
  {
    id: 'waitUntilIdle',
    method: 'POST',
    path: '/idle',
    summary: 'Answers once no delivery is under way or scheduled',
    status: 204,
    run: (account) => account.idle(),
  },
  {
    id: 'reset',
    method: 'POST',
    path: '/reset',
    summary: 'Forgets everything but credentials and tenants',
    status: 204,
    run: (account) => account.reset(),
  },
  {
    id: 'seed',
    method: 'POST',
    path: '/seed',
    summary: 'Generates invoices of every tenant in every status',
    body: shape({ invoices: { type: 'integer', minimum: 1 }, shipments: whole }),
    status: 201,
    run: async (account, { body }) => {
      const { invoices = 12, shipments } = body as { invoices?: number; shipments?: number };
      return { invoices: await account.seedInvoices(invoices, shipments) };
    },
  },
];

interface TriggerBody {
  readonly eventType: EventType;
  readonly times?: number;
  readonly invoice?: NewInvoice;
}

async function trigger({ billing }: Account, { eventType, times = 1, invoice = {} }: TriggerBody) {
  const triggered: object[] = [];
  for (let made = 0; made < times; made += 1) {
    const { invoiceId } = await billing.create(invoice);
    if (eventType === 'invoice_finalized') await billing.finalize(invoiceId);
    if (eventType === 'invoice_voided') billing.cancel(invoiceId);
    triggered.push(brief(billing.invoice(invoiceId)));
  }
  return triggered;
}

/** An invoice without its rows, which may be many. */
function brief({ lines: _, contentSeed: __, ...invoice }: Invoice) {
  return invoice;
}

function masked(registration: Registration): Registration {
  const headers = Object.fromEntries(Object.keys(registration.headers).map((name) => [name, '•••']));
  return { ...registration, headers };
}

function page<T>(items: readonly T[], { limit = 100, offset = 0 }: Call['query']): readonly T[] {
  return items.slice(Number(offset), Number(offset) + Number(limit));
}
