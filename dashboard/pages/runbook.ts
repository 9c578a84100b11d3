/** The runbook: the page that alerts link to. */

import type { FastifyInstance } from 'fastify';
import { ALERT_NAMES, anchorOf, RUNBOOK } from '../../lib/alerts/runbook/runbook.ts';
import { frame, type PageContext, sendPage } from '../page-context.ts';

/** Adds `/runbook`; each alert has its heading, `/runbook#disk-full`. */
export function registerRunbook(app: FastifyInstance, context: PageContext): void {
  const entries = [...ALERT_NAMES].sort().map((name) => ({ name, anchor: anchorOf(name), ...RUNBOOK[name] }));
  app.get('/runbook', async (_request, reply) => {
    const page = { view: 'runbook', title: 'Runbook', section: '/alerts', values: { entries } } as const;
    return sendPage(reply, await frame(context, page));
  });
}
