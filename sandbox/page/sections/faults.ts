import { FAULTS, PLACES } from '../../faults/fault-catalogue.ts';
import type { NewFault } from '../../faults/faults.ts';
import { MALFORMATIONS } from '../../faults/malformed-csv.ts';
import { EVENT_TYPES } from '../../model.ts';
import { type Form, given } from '../form.ts';
import type { Page } from '../render.ts';
import { action, type PageRequest, page, type Route } from '../section.ts';

export const faultSection: readonly Route[] = [
  page('/faults', list),
  action('/faults', list, ({ account, form }) => {
    account.faults.add(readFault(form));
    return '/faults?done=fault-on';
  }),
  action('/faults/:faultId/clear', null, ({ account, params }) => {
    account.faults.clear(params.faultId ?? '');
    return '/faults?done=fault-off';
  }),
  action('/faults/clear', null, ({ account }) => {
    account.faults.clear();
    return '/faults?done=faults-off';
  }),
];

function list({ account, typed }: PageRequest): Page {
  const { faults, billing, registrations } = account;
  return {
    view: 'faults',
    title: 'Faults',
    section: 'faults',
    data: {
      rules: faults.list(),
      typed,
      catalogue: Object.entries(FAULTS).map(([name, definition]) => ({ name, ...definition })),
      malformations: Object.entries(MALFORMATIONS).map(([kind, { description }]) => ({ kind, description })),
      places: PLACES,
      tenants: billing.tenants(),
      webhooks: registrations.list(),
      eventTypes: EVENT_TYPES,
    },
  };
}

function readFault(form: Form): NewFault {
  const rate = form.number('rate', 'Rate');
  const seconds = form.number('forSeconds', 'The duration');
  const target = given<NonNullable<NewFault['target']>>({
    invoiceId: form.text('invoiceId') || null,
    tenant: form.text('tenant') || null,
    endpoint: form.choice('endpoint', PLACES),
    eventType: form.text('eventType') || null,
    registrationId: form.text('registrationId') || null,
  });
  return {
    name: form.text('name'),
    target,
    params: form.pairs('params'),
    ...given<Pick<NewFault, 'rate' | 'count' | 'after' | 'forMs' | 'seed'>>({
      rate: rate === null ? null : rate / 100,
      count: form.number('count', 'Count'),
      after: form.number('after', 'After'),
      forMs: seconds === null ? null : seconds * 1_000,
      seed: form.number('seed', 'Seed'),
    }),
  };
}
