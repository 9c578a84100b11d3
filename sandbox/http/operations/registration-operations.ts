import type { NewRegistration } from '../../delivery/registrations.ts';
import { EVENT_TYPES, type EventType, type Registration } from '../../model.ts';
import { RefusalError } from '../../refusal.ts';
import { flag, type Operation, page, pageQuery, shape, tenantsShape, text, textMap } from './operation.ts';

const registrationShape = {
  name: text,
  url: text,
  eventTypes: { type: 'array', items: { enum: EVENT_TYPES } },
  tenants: tenantsShape,
  headers: textMap,
  caPem: { type: ['string', 'null'] },
};

export const REGISTRATION_OPERATIONS: readonly Operation[] = [
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
    run: ({ registrations }, { body }) => masked(registrations.add(body as NewRegistration)),
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
    id: 'sendTestEvents',
    method: 'POST',
    path: '/registrations/test-event',
    summary: 'Sends a test payload to every registration',
    body: shape({ eventType: { enum: EVENT_TYPES } }),
    run: ({ billing, registrations }, { body }) => {
      const { eventType } = body as { eventType?: EventType };
      return Promise.all(
        registrations.list().map(({ registrationId }) => billing.testEvent(registrationId, eventType)),
      );
    },
  },
  {
    id: 'sendTestEvent',
    method: 'POST',
    path: '/registrations/{registrationId}/test-event',
    summary: 'Sends a test payload, to an inactive registration as well',
    body: shape({ eventType: { enum: EVENT_TYPES } }),
    run: ({ billing }, { params, body }) =>
      billing.testEvent(params.registrationId ?? '', (body as { eventType?: EventType }).eventType),
  },
];

function masked(registration: Registration): Registration {
  const headers = Object.fromEntries(Object.keys(registration.headers).map((name) => [name, '•••']));
  return { ...registration, headers };
}

export const DELIVERY_OPERATIONS: readonly Operation[] = [
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
    summary: 'Delivers an event once more, to its subscribers or to one registration',
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
];
