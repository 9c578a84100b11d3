/** What was sent, and sending it once more. */
import { RefusalError } from '../../refusal.ts';
import { type Operation, page, pageQuery, shape, text } from './operation.ts';

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
];
