import type { FastifyInstance } from 'fastify';
import type { Account } from '../../account.ts';
import type { NewRegistration } from '../../delivery/registrations.ts';
import { EVENT_TYPES, type EventType, type Registration } from '../../model.ts';
import { RefusalError } from '../../refusal.ts';
import {
  answer201,
  answer204,
  type ById,
  bodyOf,
  flag,
  type PageQuery,
  pageOf,
  pageQuery,
  queryOf,
  tenantsShape,
  text,
  textMap,
} from './shapes.ts';

const registrationShape = {
  name: text,
  url: text,
  eventTypes: { type: 'array', items: { enum: EVENT_TYPES } },
  tenants: tenantsShape,
  headers: textMap,
  caPem: { type: ['string', 'null'] },
};
const eventTypeBody = bodyOf({ eventType: { enum: EVENT_TYPES } });

interface EventTypeBody {
  readonly Body: { readonly eventType?: EventType };
}

export function registrationRoutes(app: FastifyInstance, { registrations, billing }: Account): void {
  app.get('/registrations', async () => registrations.list().map(masked));
  app.post<{ Body: NewRegistration }>(
    '/registrations',
    { ...bodyOf({ ...registrationShape, active: flag }, ['name', 'url']), ...answer201 },
    async ({ body }) => masked(registrations.add(body)),
  );
  app.get<ById>('/registrations/:id', async ({ params }) => masked(registrations.get(params.id)));
  app.patch<ById & { Body: Partial<NewRegistration> }>(
    '/registrations/:id',
    bodyOf(registrationShape),
    async ({ params, body }) => masked(registrations.edit(params.id, body)),
  );
  app.delete<ById>('/registrations/:id', answer204, async ({ params }) => registrations.delete(params.id));
  for (const verb of ['enable', 'disable'] as const) {
    app.post<ById>(`/registrations/:id/${verb}`, async ({ params }) =>
      masked(registrations.setActive(params.id, verb === 'enable')),
    );
  }
  app.post<EventTypeBody>('/registrations/test-event', eventTypeBody, ({ body }) =>
    Promise.all(
      registrations.list().map(({ registrationId }) => billing.testEvent(registrationId, body.eventType)),
    ),
  );
  app.post<ById & EventTypeBody>('/registrations/:id/test-event', eventTypeBody, ({ params, body }) =>
    billing.testEvent(params.id, body.eventType),
  );
}

function masked(registration: Registration): Registration {
  const headers = Object.fromEntries(Object.keys(registration.headers).map((name) => [name, '•••']));
  return { ...registration, headers };
}

interface LogQuery extends PageQuery {
  readonly invoiceId?: string;
  readonly state?: string;
}

export function deliveryRoutes(app: FastifyInstance, { store, deliveries, billing }: Account): void {
  app.get<{ Querystring: LogQuery }>(
    '/events',
    queryOf({ ...pageQuery, invoiceId: text }),
    async ({ query }) => {
      const events = [...store.all('event').values()].reverse();
      return pageOf(events.filter(isOf(query)), query);
    },
  );
  app.post<ById & { Body: { registrationId?: string } }>(
    '/events/:id/resend',
    bodyOf({ registrationId: text }),
    async ({ params, body }) => billing.resend(params.id, body.registrationId),
  );
  app.get<{ Querystring: LogQuery }>(
    '/deliveries',
    queryOf({
      ...pageQuery,
      invoiceId: text,
      state: { enum: ['pending', 'delivered', 'failed', 'dropped'] },
    }),
    async ({ query }) => {
      const log = deliveries.list().filter(isOf(query)).reverse();
      return pageOf(
        log.filter(({ state }) => query.state === undefined || state === query.state),
        query,
      );
    },
  );
  app.get<ById>('/deliveries/:id', async ({ params }) => {
    const delivery = store.get('delivery', params.id);
    if (delivery === undefined) throw new RefusalError('not_found', 'There is no such delivery.');
    return { ...delivery, body: store.get('event', delivery.eventId)?.body ?? null };
  });
}

function isOf({ invoiceId }: LogQuery) {
  return (one: { readonly invoiceId: string }) => invoiceId === undefined || one.invoiceId === invoiceId;
}
