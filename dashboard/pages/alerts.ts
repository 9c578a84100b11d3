import { dirname } from 'node:path';
import { listValue } from '@duckdb/node-api';
import type { FastifyInstance } from 'fastify';
import { ALERT_NAMES, ALERTS, anchorOf, runbookSection } from '../../lib/alerts/alert-names.ts';
import { type OpenAlert, openAlerts } from '../../lib/alerts/alert-store.ts';
import { type PageContext, readPublished, sendFramed } from '../page-context.ts';
import type { RunStatement } from '../page-queries.ts';

const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const ABOUT_INVOICE = new RegExp(`^[a-z-]+/(${ID.source})$`);

/** Neither the alerts nor the runbook is cached; each alert has a heading in `/runbook` (`/runbook#disk-full`). */
export function registerAlerts(app: FastifyInstance, context: PageContext): void {
  app.get('/alerts', async (_request, reply) => {
    const open = await openAlerts(dirname(context.publishedPath));
    const ids = [...new Set(open.flatMap(idsIn))];
    const names = await readPublished(context, (run) => namesOf(run, ids)).catch(() => NO_NAMES);
    const alerts = open.map((alert) => {
      const invoiceId = ownIdOf(alert);
      const invoice = names.get(invoiceId ?? '') ?? null;
      const runbook = alert.name === null ? null : anchorOf(alert.name);
      const severity = alert.name === null ? null : ALERTS[alert.name].severity;
      return { ...alert, severity, runbook, invoiceId, invoice, invoices: invoicesOf(alert, names) };
    });
    const withNumbers = (text: string) => text.replace(ID, (id) => names.get(id)?.number ?? id);
    const shown = alerts.map((alert) => ({
      ...{ ...alert, title: withNumbers(alert.title), detail: withNumbers(alert.detail) },
    }));
    return sendFramed(context, reply, {
      ...{ view: 'alerts', title: 'Alerts', section: '/alerts', values: { alerts: shown }, data: { alerts } },
    });
  });
  app.get('/runbook', (_request, reply) => {
    const entries = ALERT_NAMES.map((name) => ({
      ...{ name, anchor: anchorOf(name), severity: ALERTS[name].severity },
      // The section of an alert consists of paragraphs and lists.
      blocks: runbookSection(name)
        .split(/\n\n+/)
        .map((block) => ({ isList: block.startsWith('- '), lines: block.replace(/^- /gm, '').split('\n') })),
    }));
    return sendFramed(context, reply, {
      ...{ view: 'runbook', title: 'Runbook', section: '/alerts', values: { entries } },
    });
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

function idsIn(alert: OpenAlert): readonly string[] {
  const own = ownIdOf(alert);
  return [...new Set([...(own === null ? [] : [own]), ...(alert.detail.match(ID) ?? [])])];
}

/** An unknown id in the text may be that of an event, so it is shown only if it is the alert's own. */
function invoicesOf(alert: OpenAlert, names: Names): readonly NamedInvoice[] {
  const own = ownIdOf(alert);
  return idsIn(alert).flatMap((invoiceId) => {
    const named = names.get(invoiceId);
    if (named !== undefined) return [named];
    return invoiceId === own ? [{ invoiceId, number: invoiceId, tenant: '' }] : [];
  });
}

async function namesOf(run: RunStatement, ids: readonly string[]): Promise<Names> {
  const rows = await run('invoice-names', { ids: listValue([...ids]) });
  return new Map(
    rows.map(({ invoice_id: id, number, tenant }) => [
      String(id),
      { invoiceId: String(id), number: String(number), tenant: String(tenant) },
    ]),
  );
}
