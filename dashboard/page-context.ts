import { dirname } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { openAlerts } from '../lib/alerts/alert-store.ts';
import type { Health } from '../lib/health/health.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import type { Semaphore } from '../lib/semaphore.ts';
import type { EnvironmentName } from '../lib/wire/names.ts';
import type { ReportCell } from '../reports/cells.ts';
import { isReportError } from '../reports/errors.ts';
import { openGaps } from '../reports/gap-answers.ts';
import type { ReportFilters } from '../reports/report-filters.ts';
import type { ReportHead, ReportResult } from '../reports/report-result.ts';
import { openReportSession, type ReportSession, type SessionRequest } from '../reports/report-session.ts';
import { addressOfPage, isForPrograms } from './address.ts';
import type { PageCache } from './page-cache.ts';
import type { PageError } from './page-error.ts';
import { queryPublished, type RunStatement } from './page-queries.ts';
import type { PluginPages } from './plugin-pages.ts';
import { count, type Frame, instantText, renderPage, type ViewValues } from './views.ts';

export interface PageContext {
  readonly environment: EnvironmentName;
  readonly publishedPath: string;
  readonly timeLimitMs: number;
  readonly cache: PageCache;
  /** Milliseconds after which a page is sent in parts. */
  readonly streamAfterMs: number;
  readonly errorPage: (error: unknown, url: string) => PageError;
  readonly inTurn: Semaphore;
  readonly health: Health;
  readonly quarantine: Pick<Quarantine, 'list' | 'show'> | null;
  readonly canAct: boolean;
  readonly plugins: readonly PluginPages[];
  /** The address of Temporal's pages up to the namespace; without one, pages have no links to Temporal. */
  readonly temporalUi: string | null;
}

/** @throws ReportError nothing is published yet, or the time limit has passed */
export function readPublished<T>(
  { inTurn, publishedPath: path, timeLimitMs }: PageContext,
  work: (run: RunStatement) => Promise<T>,
): Promise<T> {
  return inTurn(() => queryPublished({ path, timeLimitMs }, work));
}

export function withReports<T>(
  { publishedPath, timeLimitMs, inTurn }: PageContext,
  filters: ReportFilters,
  work: (session: ReportSession) => Promise<T>,
  limits: Pick<SessionRequest, 'maxRows'> = {},
): Promise<T> {
  return inTurn(async () => {
    const session = await openReportSession({ databasePath: publishedPath, timeLimitMs, filters, ...limits });
    try {
      return await work(session);
    } finally {
      session.close();
    }
  });
}

export interface Page {
  readonly view: string;
  readonly title: string;
  readonly section: string;
  readonly values: ViewValues;
  readonly data?: unknown;
  /** The chosen days as a query, which the links of the menu keep. */
  readonly period?: string;
}

export interface PublishedPage extends Page {
  readonly asOf: string | null;
}

/** The frame's queries do not wait for their turn among reports, so that a frame is sent immediately. */
function publishedFrame({ cache, publishedPath: path, timeLimitMs }: PageContext) {
  return cache.present('frame', () =>
    queryPublished({ path, timeLimitMs }, async (run) => {
      const states = await run('states');
      const waiting = states.find(({ state }) => state === 'needs_attention');
      return { asOf: await asOfNow(run), waiting: Number(waiting?.invoices ?? 0) };
    }),
  );
}

/** Returns null before the first publication, and never throws. */
export async function presentAsOf(context: PageContext): Promise<string | null> {
  try {
    return (await publishedFrame(context)).asOf;
  } catch (error) {
    return isReportError(error, 'not-published') ? null : 'The publication could not be read';
  }
}

export async function sendPublished(
  context: PageContext,
  reply: FastifyReply,
  make: () => Promise<PublishedPage>,
): Promise<FastifyReply> {
  return sendPage(context, reply, await cachedPage(context, reply.request, make));
}

export function cachedPage<T>(
  { cache }: PageContext,
  request: FastifyRequest,
  make: () => Promise<T>,
): Promise<T> {
  return cache.present(addressOfPage(request), make);
}

/** @param lead HTML above the body */
export async function sendPage(
  context: PageContext,
  reply: FastifyReply,
  page: PublishedPage,
  lead = '',
): Promise<FastifyReply> {
  const { data } = page;
  if (data !== undefined && isForPrograms(reply.request)) return sendJson(reply, data);
  return reply.type('text/html; charset=utf-8').send(await framedWithinLimit(context, page, lead));
}

/** All lists of pages have limits; names in them may still be long. */
const MAX_PAGE_BYTES = 3_000_000;

export async function framedWithinLimit(
  context: PageContext,
  page: PublishedPage,
  lead: string,
): Promise<string> {
  const html = await framedPage(context, page, lead);
  const bytes = Buffer.byteLength(html);
  if (bytes <= MAX_PAGE_BYTES) return html;
  const megabytes = (bytes / 1_000_000).toFixed(0);
  const message = `This page would have ${megabytes} MB, and a page has at most ${MAX_PAGE_BYTES / 1_000_000}. Narrow it by a filter, or download the data.`;
  return framedPage(context, { ...page, view: 'message', values: { message } });
}

export async function sendFramed(
  context: PageContext,
  reply: FastifyReply,
  page: Page,
): Promise<FastifyReply> {
  return sendPage(context, reply, { ...page, asOf: await presentAsOf(context) });
}

export function sendMessage(
  context: PageContext,
  reply: FastifyReply,
  {
    title,
    message,
    section = '',
  }: { readonly title: string; readonly message: string; readonly section?: string },
): Promise<FastifyReply> {
  const page = { view: 'message', title, section, values: { message }, data: { error: message } };
  return sendFramed(context, reply, page);
}

async function framedPage(context: PageContext, page: PublishedPage, lead = ''): Promise<string> {
  const { environment, health, canAct, plugins } = context;
  const { title, section, view, values, asOf, period = '' } = page;
  const around: Frame = {
    ...{ title, section, environment, asOf, lead, canAct, period },
    unhealthy: Object.entries(health.report().components)
      .filter(([, { isHealthy }]) => !isHealthy)
      .map(([name, { detail, since }]) => ({ name, detail, since })),
    plugins: new Map(
      [...Map.groupBy(plugins, ({ group }) => group)].map(([group, of]) => [
        group,
        of.map(({ address, label, icon }) => [address, label, icon] as const),
      ]),
    ),
    badges: await badgesOf(context),
  };
  return renderPage(view, around, values);
}

/** Prefix in the cache of counts that pages do not wait for; an action of an operator expires them. */
export const BADGE = 'badge of ';

/** A count that cannot be read is left out, since its own page reports the error. */
async function badgesOf(context: PageContext): Promise<Readonly<Record<string, number>>> {
  const { cache, plugins, publishedPath, quarantine } = context;
  const waiting = async () => (await publishedFrame(context)).waiting;
  const alerts = async () => {
    const open = await openAlerts(dirname(publishedPath));
    return open.filter(({ acknowledged }) => acknowledged === null).length;
  };
  // The counts of the menu take seconds on a large file, so a page shows the last known ones.
  const last = (address: string, make: () => Promise<number>) => async () =>
    (await cache.peek(`${BADGE}${address}`, make)) ?? 0;
  const counts: readonly (readonly [address: string, count: () => Promise<number>])[] = [
    ['/alerts', alerts],
    ['/quarantine', async () => (await waiting().catch(() => 0)) + ((await quarantine?.list())?.length ?? 0)],
    [
      '/reports/gaps',
      last(
        '/reports/gaps',
        async () => (await openGaps(dirname(publishedPath), (await gapsOf(context, null)).rows)).length,
      ),
    ],
    ...plugins.flatMap(({ address, countWaiting }) =>
      countWaiting === undefined ? [] : [[address, last(address, countWaiting)] as const],
    ),
  ];
  const found = await Promise.all(
    counts.map(async ([address, count]) => [address, await count().catch(() => 0)] as const),
  );
  return Object.fromEntries(found);
}

/** The report of gaps runs once for each publication. @param session null opens a session of its own */
export function gapsOf(context: PageContext, session: ReportSession | null): Promise<ReportResult> {
  return context.cache.present('gaps', () =>
    session === null ? withReports(context, {}, (own) => own.run('gaps')) : session.run('gaps'),
  );
}

export function sendJson(reply: FastifyReply, data: unknown): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(`${JSON.stringify(data)}\n`);
}

/** Parameters are checked before anything is read, so that a page sent in parts has the right status. */
export function isRefused(check: () => void): boolean {
  try {
    check();
    return false;
  } catch (error) {
    if (isReportError(error, 'invalid-filter')) return true;
    throw error;
  }
}

/** After an invalid filter or an exceeded limit the form stays, so that it can be corrected. */
export async function withProblem(
  context: PageContext,
  page: Omit<Page, 'values'>,
  make: () => Promise<Pick<PublishedPage, 'asOf' | 'values' | 'data'>>,
): Promise<PublishedPage & { readonly status: number }> {
  try {
    return { ...page, status: 200, ...(await make()) };
  } catch (error) {
    if (!isReportError(error, 'invalid-filter', 'interrupted')) throw error;
    return {
      ...{ ...page, status: error.code === 'invalid-filter' ? 400 : 503 },
      asOf: await readPublished(context, asOfNow),
      ...{ values: { problem: error.message }, data: { error: error.message } },
    };
  }
}

export async function asOfNow(run: RunStatement): Promise<string | null> {
  const [row] = await run('publication');
  return row ? asOfText(row.published_at, row.sequence) : null;
}

export function asOfHead({ asOf, publication }: ReportHead): string {
  return asOfText(asOf, publication);
}

function asOfText(publishedAt: ReportCell | undefined, sequence: ReportCell | undefined): string {
  return `As of ${instantText(publishedAt)}, publication ${count(sequence)}`;
}
