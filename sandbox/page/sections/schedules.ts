import type { NewSchedule } from '../../billing/schedules.ts';
import type { Schedule } from '../../model.ts';
import type { Form } from '../form.ts';
import type { Page } from '../render.ts';
import { action, type PageRequest, page, type Route } from '../section.ts';

const LEVELS = ['tenant', 'partner'] as const;

export const scheduleSection: readonly Route[] = [
  page('/schedules', list),
  page('/schedules/:scheduleId', detail),
  action('/schedules', list, ({ account, form }) => {
    const { scheduleId } = account.schedules.add(readSettings(form));
    return `/schedules/${scheduleId}?done=schedule-added`;
  }),
  action('/schedules/:scheduleId', detail, ({ account, params, form }) => {
    account.schedules.edit(params.scheduleId ?? '', readSettings(form));
    return `/schedules/${params.scheduleId}?done=schedule-saved`;
  }),
  action('/schedules/:scheduleId/run', detail, async ({ account, params }) => {
    await account.schedules.run(params.scheduleId ?? '');
    return '/invoices?done=schedule-run';
  }),
  action('/schedules/:scheduleId/delete', null, ({ account, params }) => {
    account.schedules.delete(params.scheduleId ?? '');
    return '/schedules?done=schedule-deleted';
  }),
];

function list({ account, typed, form }: PageRequest): Page {
  const fresh = {
    name: '',
    shipments: '25',
    level: 'tenant',
    enabled: true,
    tenantChoice: 'all',
    tenants: [],
  };
  return {
    view: 'schedules',
    title: 'Schedules',
    section: 'schedules',
    data: {
      ...shared(account),
      schedules: account.schedules.list().map((one) => ({ ...one, overrides: overridesOf(account, one) })),
      typed: 'name' in typed ? { ...typed, overrides: readOverrides(form) } : fresh,
    },
  };
}

function detail({ account, params, typed, form }: PageRequest): Page {
  const schedule = account.schedules.get(params.scheduleId ?? '');
  const stored = {
    ...schedule,
    everySeconds: schedule.everySeconds === null ? '' : String(schedule.everySeconds),
    shipments: String(schedule.shipments),
    tenantChoice: schedule.tenants === 'all' ? 'all' : 'some',
    tenants: schedule.tenants === 'all' ? [] : schedule.tenants,
    overrides: schedule.tenantOverrides,
  };
  const invoices = account.billing.invoices().filter((one) => one.scheduleId === schedule.scheduleId);
  return {
    view: 'schedule',
    title: schedule.name,
    section: 'schedules',
    data: {
      ...shared(account),
      schedule,
      typed: 'name' in typed ? { ...typed, overrides: readOverrides(form) } : stored,
      invoices: invoices.slice(-20).reverse(),
      invoiceCount: invoices.length,
    },
  };
}

function shared({ billing, partner }: PageRequest['account']) {
  return { tenants: billing.tenants(), hasTenants: partner.kind === '3pl' };
}

function readSettings(form: Form): NewSchedule {
  const isSome = form.text('tenantChoice') === 'some';
  return {
    name: form.text('name'),
    enabled: form.has('enabled'),
    everySeconds: form.number('everySeconds', 'The interval'),
    level: form.choice('level', LEVELS) ?? 'tenant',
    tenants: isSome ? form.all('tenants') : 'all',
    autoApprove: form.has('autoApprove'),
    tenantOverrides: readOverrides(form),
    shipments: form.number('shipments', 'Shipments') ?? 25,
  };
}

/** Fields named `override:<tenant id>`, each `on`, `off` or empty for the schedule's own setting. */
function readOverrides(form: Form): Readonly<Record<string, boolean>> {
  const chosen = Object.entries(form.typed()).filter(
    ([name, value]) => name.startsWith('override:') && value !== '',
  );
  return Object.fromEntries(chosen.map(([name, value]) => [name.slice('override:'.length), value === 'on']));
}

function overridesOf({ billing }: PageRequest['account'], { tenantOverrides }: Schedule) {
  return Object.entries(tenantOverrides).map(([tenantId, isOn]) => ({
    name: billing.tenant(tenantId).name,
    isOn,
  }));
}
