/** Every alert that is not over: since when, what to do, and which invoice it is about. */

import { dirname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type OpenAlert, openAlerts } from '../../lib/alerts/alert-store.ts';
import { anchorOf, RUNBOOK } from '../../lib/alerts/runbook/runbook.ts';
import { ask, type PageContext, sendFramed } from '../page-context.ts';
import type { Ask } from '../published-questions.ts';

/** Names behind ids are looked up for the newest; the others show their id. */
const MAX_NAMED = 200;
const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const ABOUT_INVOICE = new RegExp(`^[a-z-]+/(${ID.source})$`);

/** Adds `/alerts`; it is read anew for whoever looks. */
export function registerAlerts(app: FastifyInstance, context: PageContext): void {
  app.get('/alerts', async (_request, reply) => {
    const open = await openAlerts(dirname(context.publishedPath));
    const wanted = [...new Set(open.flatMap(idsIn))].slice(0, MAX_NAMED);
    const names = await ask(context, (asking) => namesOf(asking, wanted)).catch(() => NO_NAMES);
    const alerts = open.map((alert) => {
      const invoiceId = ownIdOf(alert);
      const about = { invoiceId, invoice: names.get(invoiceId ?? '') ?? null };
      const runbook = alert.name === null ? null : anchorOf(alert.name);
      const severity = alert.name === null ? null : RUNBOOK[alert.name].severity;
      return { ...alert, severity, runbook, ...about, invoices: invoicesOf(alert, names) };
    });
    const page = { view: 'alerts', title: 'Alerts', section: '/alerts', values: { alerts } } as const;
    return sendFramed(context, reply, { ...page, figures: { alerts } });
  });
}

interface NamedInvoice {
  readonly invoiceId: string;
  readonly number: string;
  readonly tenant: string;
}
type Names = ReadonlyMap<string, NamedInvoice>;
const NO_NAMES: Names = new Map();

function ownIdOf({ key }: OpenAlert): string | null {
  return ABOUT_INVOICE.exec(key)?.[1] ?? null;
}

/** Ids of the alert's invoice and of others in its text. */
function idsIn(alert: OpenAlert): readonly string[] {
  const own = ownIdOf(alert);
  return [...new Set([...(own === null ? [] : [own]), ...(alert.detail.match(ID) ?? [])])];
}

/** An id in its words may be that of an event, so one that nobody knows is shown only if it is the alert's own. */
function invoicesOf(alert: OpenAlert, names: Names): readonly NamedInvoice[] {
  const own = ownIdOf(alert);
  return idsIn(alert).flatMap((invoiceId) => {
    const named = names.get(invoiceId);
    if (named !== undefined) return [named];
    return invoiceId === own ? [{ invoiceId, number: invoiceId, tenant: '' }] : [];
  });
}

async function namesOf(asking: Ask, ids: readonly string[]): Promise<Names> {
  const names = new Map<string, NamedInvoice>();
  for (const id of ids) {
    const [row] = await asking('invoice', { invoice: id });
    if (row !== undefined) {
      const number = String(row.invoice_number ?? id);
      names.set(id, { invoiceId: id, number, tenant: String(row.tenant_name ?? '') });
    }
  }
  return names;
}
