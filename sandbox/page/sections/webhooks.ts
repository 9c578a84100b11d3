import type { NewRegistration } from '../../delivery/registrations.ts';
import { EVENT_TYPES } from '../../model.ts';
import type { Form } from '../form.ts';
import type { Page } from '../render.ts';
import { action, type PageRequest, page, type Route } from '../section.ts';

const MAX_DELIVERIES = 20;

export const webhookSection: readonly Route[] = [
  page('/webhooks', list),
  page('/webhooks/:registrationId', detail),
  action('/webhooks', list, ({ account, form }) => {
    const headers = form.pairs('headers');
    const { registrationId } = account.registrations.add({ ...readSettings(form), headers });
    return `/webhooks/${registrationId}?done=webhook-added`;
  }),
  action('/webhooks/:registrationId', detail, ({ account, params, form }) => {
    const headers = form.has('dropHeaders') ? {} : form.pairs('headers');
    const isKept = !form.has('dropHeaders') && Object.keys(headers).length === 0;
    const settings = { ...readSettings(form), ...(isKept ? {} : { headers }) };
    account.registrations.edit(params.registrationId ?? '', settings);
    return `/webhooks/${params.registrationId}?done=webhook-saved`;
  }),
  ...(['enable', 'disable'] as const).map((verb) =>
    action(`/webhooks/:registrationId/${verb}`, null, ({ account, params }) => {
      account.registrations.setActive(params.registrationId ?? '', verb === 'enable');
      return `/webhooks/${params.registrationId}?done=webhook-${verb}d`;
    }),
  ),
  action('/webhooks/:registrationId/delete', null, ({ account, params }) => {
    account.registrations.delete(params.registrationId ?? '');
    return '/webhooks?done=webhook-deleted';
  }),
  action('/webhooks/:registrationId/test', detail, async ({ account, params, form }) => {
    const eventType = form.choice('eventType', EVENT_TYPES) ?? undefined;
    const { deliveryId } = await account.billing.testEvent(params.registrationId ?? '', eventType);
    return `/deliveries/${deliveryId}?done=test-sent`;
  }),
];

function list({ account, typed }: PageRequest): Page {
  const { registrations, billing, partner } = account;
  return {
    view: 'webhooks',
    title: 'Webhooks',
    section: 'webhooks',
    data: {
      webhooks: registrations.list().map((one) => ({ ...one, tenantNames: namesOf(account, one.tenants) })),
      eventTypes: EVENT_TYPES,
      tenants: billing.tenants(),
      hasTenants: partner.kind === '3pl',
      typed,
    },
  };
}

function detail({ account, params, typed }: PageRequest): Page {
  const { registrations, billing, partner, deliveries, store } = account;
  const webhook = registrations.get(params.registrationId ?? '');
  const log = deliveries.list().filter((one) => one.registrationId === webhook.registrationId);
  const stored = {
    name: webhook.name,
    url: webhook.url,
    caPem: webhook.caPem ?? '',
    eventTypes: webhook.eventTypes,
    tenantChoice: webhook.tenants === 'all' ? 'all' : 'some',
    tenants: webhook.tenants === 'all' ? [] : webhook.tenants,
  };
  return {
    view: 'webhook',
    title: webhook.name,
    section: 'webhooks',
    data: {
      webhook: { ...webhook, tenantNames: namesOf(account, webhook.tenants) },
      headerNames: Object.keys(webhook.headers),
      eventTypes: EVENT_TYPES,
      tenants: billing.tenants(),
      hasTenants: partner.kind === '3pl',
      typed: 'url' in typed ? typed : stored,
      deliveries: log
        .slice(-MAX_DELIVERIES)
        .reverse()
        .map((one) => ({
          ...one,
          invoiceNumber: store.get('invoice', one.invoiceId)?.invoiceNumber ?? null,
        })),
    },
  };
}

function readSettings(form: Form): NewRegistration {
  const isSome = form.text('tenantChoice') === 'some';
  return {
    name: form.text('name'),
    url: form.text('url'),
    eventTypes: form.all('eventTypes'),
    tenants: isSome ? form.all('tenants') : 'all',
    caPem: form.text('caPem') || null,
  };
}

function namesOf(
  { billing }: PageRequest['account'],
  tenants: 'all' | readonly string[],
): readonly string[] | null {
  return tenants === 'all' ? null : tenants.map((tenantId) => billing.tenant(tenantId).name);
}
