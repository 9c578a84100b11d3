import { FAULTS, type FaultDefinition, PLACES, type Place } from '../../faults/fault-catalogue.ts';
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

const GROUPS: readonly { readonly title: string; readonly places: readonly Place[] }[] = [
  { title: 'Webhook deliveries', places: ['delivery'] },
  { title: 'Events and their values', places: ['event'] },
  { title: 'Exports and files', places: ['export', 'storage', 'export-csv'] },
  { title: 'API answers', places: PLACES },
];

function list({ account, typed, form }: PageRequest): Page {
  const { faults, billing, registrations } = account;
  return {
    view: 'faults',
    title: 'Faults',
    section: 'faults',
    data: {
      rules: faults.list(),
      groups: groupsOf(),
      open: form.text('name'),
      typed,
      tenants: billing.tenants(),
      webhooks: registrations.list(),
      eventTypes: EVENT_TYPES,
      malformations: Object.entries(MALFORMATIONS).map(([kind, { description }]) => ({ kind, description })),
    },
  };
}

function groupsOf() {
  const entries = Object.entries(FAULTS) as [string, FaultDefinition][];
  return GROUPS.map(({ title, places }, at) => ({
    title,
    faults: entries
      .filter(([, { defaultPlaces }]) => groupOf(defaultPlaces) === at)
      .map(([name, definition]) => ({ name, ...definition, params: Object.entries(definition.params) })),
    places,
  })).filter(({ faults }) => faults.length > 0);
}

function groupOf([first]: readonly Place[]): number {
  return GROUPS.findIndex(({ places }) => first !== undefined && places.includes(first));
}

function readFault(form: Form): NewFault {
  const name = form.text('name');
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
    name,
    target,
    params: readParams(name, form),
    ...given<Pick<NewFault, 'rate' | 'count' | 'after' | 'forMs' | 'seed'>>({
      rate: rate === null ? null : rate / 100,
      count: form.number('count', 'Count'),
      after: form.number('after', 'After'),
      forMs: seconds === null ? null : seconds * 1_000,
      seed: form.number('seed', 'Seed'),
    }),
  };
}

/** Settings keep the type that the catalogue has for them. */
function readParams(name: string, form: Form): NonNullable<NewFault['params']> {
  const defaults = (FAULTS as Readonly<Record<string, FaultDefinition>>)[name]?.params ?? {};
  const params = Object.entries(defaults).map(([key, value]): [string, string | number | boolean] => {
    const field = `param:${key}`;
    if (typeof value === 'boolean') return [key, form.has(field)];
    if (typeof value === 'number') return [key, form.number(field, key) ?? value];
    return [key, form.text(field) || value];
  });
  return Object.fromEntries(params);
}
