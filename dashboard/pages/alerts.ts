/** Every alert that is not over: since when, what to do, and which invoice it is about. */

import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { openAlerts } from '../../ops/open-alerts.js';
import { anchorOf } from '../../ops/runbook/runbook.js';
import { ask, type PageContext, sendFramed } from '../page-context.js';
import type { Ask } from '../published-questions.js';

/** Names behind ids are looked up for the newest; the others show their id. */
const MOST_NAMED = 200;
const ABOUT_INVOICE = /^[a-z-]+\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Adds `/alerts`; it is read anew for whoever looks. */
export function registerAlerts(app: FastifyInstance, context: PageContext): void {
  app.get('/alerts', async (_request, reply) => {
    const open = await openAlerts(join(dirname(context.publishedPath), 'run'));
    const ids = open.map(({ key }) => ABOUT_INVOICE.exec(key)?.[1] ?? null);
    const wanted = [...new Set(ids)].filter((id) => id !== null).slice(0, MOST_NAMED);
    const names = await ask(context, (asking) => namesOf(asking, wanted)).catch(() => new Map());
    const alerts = open.map((alert, index) => {
      const invoiceId = ids[index] ?? null;
      const runbook = alert.name === null ? null : anchorOf(alert.name);
      return { ...alert, runbook, invoiceId, invoice: names.get(invoiceId) ?? null };
    });
    const page = { view: 'alerts', title: 'Alerts', section: '/alerts', values: { alerts } } as const;
    return sendFramed(context, reply, { ...page, figures: { alerts } });
  });
}

async function namesOf(
  asking: Ask,
  ids: readonly string[],
): Promise<ReadonlyMap<string | null, { readonly number: string; readonly tenant: string }>> {
  const names = new Map<string | null, { readonly number: string; readonly tenant: string }>();
  for (const id of ids) {
    const [row] = await asking('invoice', { invoice: id });
    if (row !== undefined) {
      names.set(id, { number: String(row.invoice_number ?? id), tenant: String(row.tenant_name ?? '') });
    }
  }
  return names;
}
