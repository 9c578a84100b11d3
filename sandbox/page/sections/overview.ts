import { INTERNAL_STATUSES } from '../../model.ts';
import { seedInvoices } from '../../sandbox-account.ts';
import type { Page } from '../render.ts';
import { action, type PageRequest, page, type Route } from '../section.ts';

const RECENT_LINES = 14;
const SEEDED_INVOICES = 12;

export const overviewSection: readonly Route[] = [
  page('/', overview),
  action('/seed', null, async ({ account }) => {
    await seedInvoices(account, SEEDED_INVOICES);
    return '/invoices?done=seeded';
  }),
];

function overview({ account, connection }: PageRequest): Page {
  const { billing, registrations, deliveries, faults, activity } = account;
  const invoices = billing.invoices();
  const log = deliveries.list();
  const countOf = (state: string) => log.filter((one) => one.state === state).length;
  return {
    view: 'overview',
    title: 'Overview',
    section: 'overview',
    data: {
      statuses: INTERNAL_STATUSES.map((status) => ({
        status,
        count: invoices.filter((one) => one.status === status).length,
      })),
      webhooks: registrations.list().length,
      activeWebhooks: registrations.list().filter(({ active }) => active).length,
      delivered: countOf('delivered'),
      failed: countOf('failed'),
      pending: countOf('pending'),
      faults: faults.list().length,
      activity: activity.after(0).slice(-RECENT_LINES).reverse(),
      connection,
    },
  };
}
