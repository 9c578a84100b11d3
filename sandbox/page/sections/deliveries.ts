import { parse, stringify } from 'lossless-json';
import { type Delivery, EVENT_TYPES } from '../../model.ts';
import { RefusalError } from '../../refusal.ts';
import type { Page } from '../render.ts';
import { action, type PageRequest, page, paged, type Route } from '../section.ts';

const STATES = ['pending', 'delivered', 'failed', 'dropped'] as const;

export const deliverySection: readonly Route[] = [
  page('/deliveries', list),
  page('/deliveries/:deliveryId', detail),
  action('/deliveries/:deliveryId/resend', detail, ({ account, params }) => {
    const { eventId, registrationId } = find(account, params.deliveryId ?? '');
    const [resent] = account.billing.resend(eventId, registrationId);
    return `/deliveries/${resent?.deliveryId ?? params.deliveryId}?done=resent`;
  }),
];

function list({ account, query }: PageRequest): Page {
  const filter = {
    state: query.text('state'),
    eventType: query.text('eventType'),
    webhook: query.text('webhook'),
  };
  const found = account.deliveries
    .list()
    .filter((one) => filter.state === '' || one.state === filter.state)
    .filter((one) => filter.eventType === '' || one.eventType === filter.eventType)
    .filter((one) => filter.webhook === '' || one.registrationId === filter.webhook);
  const { onPage, position } = paged(found, query);
  return {
    view: 'deliveries',
    title: 'Deliveries',
    section: 'deliveries',
    data: {
      deliveries: onPage.map((one) => ({ ...one, invoiceNumber: numberOf(account, one) })),
      states: STATES,
      eventTypes: EVENT_TYPES,
      webhooks: account.registrations.list(),
      filter,
      filterQuery: new URLSearchParams(filter).toString(),
      ...position,
    },
  };
}

function detail({ account, params }: PageRequest): Page {
  const delivery = find(account, params.deliveryId ?? '');
  const event = account.store.get('event', delivery.eventId);
  return {
    view: 'delivery',
    title: `${delivery.eventType} to ${delivery.registrationName}`,
    section: 'deliveries',
    data: {
      delivery,
      invoiceNumber: numberOf(account, delivery),
      payload: event === undefined ? null : pretty(event.body),
      canResend:
        event !== undefined && account.store.get('registration', delivery.registrationId) !== undefined,
    },
  };
}

function find({ store }: PageRequest['account'], deliveryId: string): Delivery {
  const delivery = store.get('delivery', deliveryId);
  if (delivery !== undefined) return delivery;
  throw new RefusalError('not_found', `There is no delivery "${deliveryId}" in the log.`);
}

/** null for test payloads. */
function numberOf({ store }: PageRequest['account'], { invoiceId }: Delivery): string | null {
  return store.get('invoice', invoiceId)?.invoiceNumber ?? null;
}

/** Every number keeps its digits. */
function pretty(body: string): string {
  return stringify(parse(body), undefined, 2) ?? body;
}
