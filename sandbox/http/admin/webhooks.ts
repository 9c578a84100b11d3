import type { NewRegistration } from '../../delivery/registrations.ts';
import { type Delivery, EVENT_TYPES, type EventType, type Registration } from '../../model.ts';
import { RefusalError } from '../../refusal.ts';
import {
  field,
  flag,
  grouped,
  mapOf,
  oneOf,
  operation,
  type Paging,
  page,
  paging,
  tenants,
  text,
} from './operation.ts';

const COLUMNS = ['registrationId', 'name', 'active', 'eventTypes', 'tenants', 'url'];
const AN_ID = '0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11';

const settings = {
  name: field(text, '--name <name>', 'descriptive name'),
  url: field(text, '--url <url>', 'https URL that receives notifications'),
  eventTypes: field(
    { type: 'array', items: oneOf(EVENT_TYPES) },
    '--event, --event-type <types>',
    'event types, repeated or separated by commas (all three)',
  ),
  tenants: field(
    tenants,
    '--tenant <tenant>',
    "tenant by name, id or the partner's own id; repeatable (all)",
    'tenants',
  ),
  headers: field(
    mapOf(text),
    '--header <line>',
    '"Name: value" sent with every request; repeatable',
    'headers',
  ),
  caPem: field(
    { type: ['string', 'null'] },
    '--endpoint-ca <file>',
    'verify the endpoint against this CA; without it any certificate is accepted',
    'contents',
  ),
};
const ofType = { eventType: field(oneOf(EVENT_TYPES), '--event, --event-type <type>', 'of this type') };
const OF_TYPE = { body: ofType, sample: { eventType: 'invoice_created' } };

interface OfType {
  readonly eventType?: EventType;
}

export const WEBHOOKS = grouped('Webhooks', [
  operation({
    route: 'GET /registrations',
    about: 'list all registered webhooks',
    command: 'webhooks list',
    print: COLUMNS,
    run: ({ registrations }) => registrations.list().map(masked),
  }),
  operation<Partial<NewRegistration> & Pick<NewRegistration, 'url'>>({
    route: 'POST /registrations',
    about: 'register a webhook, inactive until it is enabled',
    body: { ...settings, active: field(flag, '--enable', 'enable it at once') },
    required: ['url'],
    status: 201,
    sample: {
      ...{ name: 'ERP', url: 'https://127.0.0.1:8443/webhooks/billing', active: true },
      headers: { Authorization: 'Basic d2ViaG9vazpzZWNyZXQ=' },
    },
    command: 'webhooks add',
    example: '--url https://127.0.0.1:8443/webhooks/billing --header "Authorization: Basic …" --enable',
    print: COLUMNS,
    run: ({ registrations }, { body }) => masked(registrations.add({ name: body.url, ...body })),
  }),
  operation({
    route: 'GET /registrations/:id',
    about: 'show one webhook',
    run: ({ registrations }, { id }) => masked(registrations.get(id)),
  }),
  operation<Partial<NewRegistration>>({
    route: 'PATCH /registrations/:id',
    about: 'change the given settings of a webhook',
    body: settings,
    sample: { eventTypes: ['invoice_finalized'] },
    command: 'webhooks edit <registrationId>',
    example: `${AN_ID} --event invoice_finalized`,
    print: COLUMNS,
    run: ({ registrations }, { id, body }) => masked(registrations.edit(id, body)),
  }),
  ...(['enable', 'disable'] as const).map((verb) =>
    operation({
      route: `POST /registrations/:id/${verb}`,
      about: `${verb} a webhook`,
      command: `webhooks ${verb} <registrationId>`,
      example: AN_ID,
      print: COLUMNS,
      run: ({ registrations }, { id }) => masked(registrations.setActive(id, verb === 'enable')),
    }),
  ),
  operation({
    route: 'DELETE /registrations/:id',
    about: 'delete a webhook',
    status: 204,
    command: 'webhooks delete <registrationId>',
    example: `${AN_ID} --yes`,
    confirm: 'Delete the webhook {id}?',
    print: 'Deleted',
    run: ({ registrations }, { id }) => registrations.delete(id),
  }),
  operation<OfType>({
    route: 'POST /registrations/test-event',
    about: 'send a test payload to every webhook',
    ...OF_TYPE,
    run: ({ registrations, billing }, { body }) =>
      Promise.all(
        registrations.list().map(({ registrationId }) => billing.testEvent(registrationId, body.eventType)),
      ),
  }),
  operation<OfType>({
    route: 'POST /registrations/:id/test-event',
    about: 'send a test payload to a webhook, active or not; without an id, to every webhook',
    ...OF_TYPE,
    command: 'test-event [registrationId]',
    example: `${AN_ID} --event invoice_created`,
    ...printedDeliveries(),
    run: ({ billing }, { id, body }) => billing.testEvent(id, body.eventType),
  }),
]);

function masked(registration: Registration): Registration {
  const headers = Object.fromEntries(Object.keys(registration.headers).map((name) => [name, '•••']));
  return { ...registration, headers };
}

interface LogQuery extends Paging {
  readonly invoiceId?: string;
  readonly state?: string;
}
const ofInvoice = field(text, '--invoice <invoiceId>', 'of one invoice');

export const DELIVERIES = grouped('Deliveries', [
  operation<object, LogQuery>({
    route: 'GET /events',
    about: 'list events as they were emitted, newest first',
    query: { invoiceId: ofInvoice, ...paging },
    command: 'events list',
    example: '--invoice 66271f59-6785-4f34-b6a1-dc40606f2d81 --json',
    print: ['eventId', 'eventType', 'eventTimestamp', 'invoiceId', 'testEvent'],
    run: ({ store }, { query }) =>
      page([...store.all('event').values()].reverse().filter(isOf(query)), query),
  }),
  operation<{ registrationId?: string }>({
    route: 'POST /events/:id/resend',
    about: 'deliver an event once more',
    body: { registrationId: field(text, '--webhook <registrationId>', 'to this webhook only') },
    command: 'resend <eventId>',
    example: '9fc82c2c-f7a8-42f0-a415-59cc23f7adf8',
    ...printedDeliveries(),
    run: ({ billing }, { id, body }) => billing.resend(id, body.registrationId),
  }),
  operation<object, LogQuery>({
    route: 'GET /deliveries',
    about: 'list deliveries with their attempts, newest first',
    query: {
      state: field(oneOf(['pending', 'delivered', 'failed', 'dropped']), '--state <state>', 'in this state'),
      ...{ invoiceId: ofInvoice, ...paging },
    },
    command: 'deliveries list',
    example: '--state failed',
    ...printedDeliveries(),
    run({ deliveries }, { query }) {
      const log = deliveries.list().filter(isOf(query)).reverse();
      return page(
        log.filter(({ state }) => query.state === undefined || state === query.state),
        query,
      );
    },
  }),
  operation({
    route: 'GET /deliveries/:id',
    about: 'show one delivery with its payload and attempts',
    command: 'deliveries show <deliveryId>',
    example: '3b67d484-e27a-4590-9ac9-c196b482a073',
    print: 'json',
    run({ store }, { id }) {
      const delivery = store.get('delivery', id);
      if (delivery === undefined) throw new RefusalError('not_found', 'There is no such delivery.');
      return { ...delivery, body: store.get('event', delivery.eventId)?.body ?? null };
    },
  }),
]);

function isOf({ invoiceId }: LogQuery) {
  return (one: { readonly invoiceId: string }) => invoiceId === undefined || one.invoiceId === invoiceId;
}

function printedDeliveries() {
  return {
    print: ['deliveryId', 'eventType', 'state', 'attempts', 'last', 'registrationName', 'eventId'],
    rows: (answer: Delivery | readonly Delivery[]) =>
      [answer].flat().map(({ attempts, ...delivery }) => {
        const last = attempts.at(-1);
        return { ...delivery, attempts: attempts.length, last: last?.status ?? last?.error };
      }),
  };
}
