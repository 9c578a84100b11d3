/** What every page is made of: the published file through a cache, and what only this process knows. */

import type { FastifyReply } from 'fastify';
import type { EnvironmentName } from '../contract/names.js';
import type { Quarantine } from '../contract/quarantine.js';
import type { Health } from '../ops/health.js';
import { openReportSession, type ReportSession, type SessionRequest } from '../reports/report-session.js';
import type { PageCache } from './page-cache.js';
import { type Ask, askPublished } from './published-questions.js';
import type { InTurn } from './turns.js';
import { count, type Frame, instant, renderPage, type ViewName } from './views.js';

export interface PageContext {
  readonly environment: EnvironmentName;
  readonly publishedPath: string;
  readonly timeLimitMs: number;
  readonly cache: PageCache;
  /** Everything that queries waits here for its turn. */
  readonly inTurn: InTurn;
  readonly health: Health;
  /** null: this process has none, the page says so. */
  readonly quarantine: Pick<Quarantine, 'list' | 'show'> | null;
  /** Temporal's web pages up to the namespace; null: there are none to link to. */
  readonly temporalUi: string | null;
}

export function ask<T>(context: PageContext, work: (ask: Ask) => Promise<T>): Promise<T> {
  const published = { path: context.publishedPath, timeLimitMs: context.timeLimitMs };
  return context.inTurn(() => askPublished(published, work));
}

/** Opens reports with the page's filters, lets `work` run them, and closes them again. */
export async function withReports<T>(
  context: PageContext,
  filters: SessionRequest['filters'],
  work: (session: ReportSession) => Promise<T>,
): Promise<T> {
  const { publishedPath, timeLimitMs } = context;
  const request = { databasePath: publishedPath, timeLimitMs, ...(filters ? { filters } : {}) };
  return context.inTurn(async () => {
    const session = await openReportSession(request);
    try {
      return await work(session);
    } finally {
      session.close();
    }
  });
}

export interface Page {
  readonly view: ViewName;
  readonly title: string;
  readonly section: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Puts a page into its frame. */
export async function frame(context: PageContext, page: Page): Promise<string> {
  const { title, section, view, values } = page;
  const asOf = await context.cache.page('as-of', () => asOfText(context)).catch(() => null);
  const around: Frame = { title, section, environment: context.environment, asOf };
  return renderPage(view, around, values);
}

export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(html);
}

async function asOfText(context: PageContext): Promise<string | null> {
  const [row] = await ask(context, (asking) => asking('publication'));
  return row ? `As of ${instant(row.published_at)}, publication ${count(row.sequence)}` : null;
}
