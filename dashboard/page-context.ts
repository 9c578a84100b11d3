/** The inputs of every page: the published file through a cache, and the state of this process. */

import { dirname } from 'node:path';
import type { FastifyReply } from 'fastify';
import { openAlerts } from '../lib/alerts/alert-store.ts';
import type { Health } from '../lib/health/health.ts';
import type { Semaphore } from '../lib/semaphore.ts';
import type { EnvironmentName } from '../lib/wire/names.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import type { ReportCell } from '../reports/cells.ts';
import { isReportError } from '../reports/errors.ts';
import { checkFilters, isUnfiltered } from '../reports/report-filters.ts';
import type { ReportHead } from '../reports/report-result.ts';
import {
  type Counted,
  openReportSession,
  type ReportSession,
  type SessionRequest,
} from '../reports/report-session.ts';
import { addressOfPage, asksForFigures, patienceFor, sendFigures } from './figures.ts';
import type { GuestPages } from './guest-pages.ts';
import type { PageCache, Shown } from './page-cache.ts';
import type { PageError } from './page-error.ts';
import { type Ask, queryPublished } from './published-questions.ts';
import { count, type Frame, instant, renderPage, type ViewName, type ViewValues } from './views.ts';

export interface PageContext {
  readonly environment: EnvironmentName;
  readonly publishedPath: string;
  readonly timeLimitMs: number;
  readonly cache: PageCache;
  /** A page that takes longer is sent as it becomes known. */
  readonly firstWordsMs: number;
  /** The page for an error; unexpected errors are logged. */
  readonly tell: (error: unknown, url: string) => PageError;
  /** Everything that queries waits here for its turn. */
  readonly inTurn: Semaphore;
  readonly health: Health;
  /** null: this process has none, the page says so. */
  readonly quarantine: Pick<Quarantine, 'list' | 'show'> | null;
  /** Whether an operator can act from the pages. */
  readonly canAct: boolean;
  /** Pages that other parts bring. */
  readonly guests: readonly GuestPages[];
  /** Temporal's web pages up to the namespace; null: there are none to link to. */
  readonly temporalUi: string | null;
}

/**
 * Asks the published file, a bounded number of pages at once, each within the context's time limit.
 *
 * @throws ReportError nothing is published yet, or the time limit has passed
 */
export function ask<T>(context: PageContext, work: (ask: Ask) => Promise<T>): Promise<T> {
  const published = { path: context.publishedPath, timeLimitMs: context.timeLimitMs };
  return context.inTurn(() => queryPublished(published, work));
}

/** Opens reports with the page's filters, lets `work` run them, and closes them again. */
export async function withReports<T>(
  context: PageContext,
  filters: SessionRequest['filters'],
  work: (session: ReportSession) => Promise<T>,
): Promise<T> {
  const counted = isUnfiltered(checkFilters(filters ?? {})) ? await countedOf(context) : undefined;
  return inSession(context, { ...(filters ? { filters } : {}), counted }, work);
}

/** Totals of the publication, computed once for all pages without filters. */
export function countedOf(context: PageContext): Promise<Counted> {
  return context.cache.present('counted', () => inSession(context, {}, (session) => session.count()));
}

async function inSession<T>(
  { publishedPath, timeLimitMs, inTurn }: PageContext,
  { filters = {}, counted }: Pick<SessionRequest, 'filters' | 'counted'>,
  work: (session: ReportSession) => Promise<T>,
): Promise<T> {
  return inTurn(async () => {
    const session = await openReportSession({ databasePath: publishedPath, timeLimitMs, filters, counted });
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
  readonly values: ViewValues;
  /** The contents for `format=json`; undefined: a page without figures. */
  readonly figures?: unknown;
  /** The days it is asked for, as a query; the menu keeps them. */
  readonly period?: string;
}

/** A page with the publication it was made of, as one reading of the file told both. */
export interface PublishedPage extends Page {
  readonly asOf: string | null;
}

/** Puts a page into its frame that is not made of the published file; the frame names the present publication. */
export async function frame(context: PageContext, page: Page): Promise<string> {
  return framed(context, { value: { ...page, asOf: await presentAsOf(context) }, isFormer: false });
}

/** The data of every page's frame. It does not wait for its turn, so that frames are sent at once. */
function publishedFrame({ cache, publishedPath: path, timeLimitMs }: PageContext) {
  return cache.present('frame', () =>
    queryPublished({ path, timeLimitMs }, async (asking) => {
      const states = await asking('states');
      const waiting = states.find(({ state }) => state === 'needs_attention');
      return { asOf: await asOfNow(asking), waiting: Number(waiting?.invoices ?? 0) };
    }),
  );
}

/** Which publication there is now; null when nothing was published yet. Never throws. */
export async function presentAsOf(context: PageContext): Promise<string | null> {
  try {
    return (await publishedFrame(context)).asOf;
  } catch (error) {
    return isReportError(error, 'not-published') ? null : 'The publication could not be read';
  }
}

/** The page of the request's address, kept as long as the file it was made of. */
export async function sendPublished(
  context: PageContext,
  reply: FastifyReply,
  make: () => Promise<PublishedPage>,
): Promise<FastifyReply> {
  const { request } = reply;
  return sendShown(
    context,
    reply,
    await context.cache.page(addressOfPage(request), make, patienceFor(request)),
  );
}

/** A page, or its figures if those were asked for. @param lead HTML that stands above what the page shows */
export async function sendShown(
  context: PageContext,
  reply: FastifyReply,
  shown: Shown<PublishedPage>,
  lead = '',
): Promise<FastifyReply> {
  const { figures } = shown.value;
  const isForPrograms = figures !== undefined && asksForFigures(reply.request);
  return isForPrograms ? sendFigures(reply, figures) : sendPage(reply, await framed(context, shown, lead));
}

/** The same of a page that is not made of the published file. */
export async function sendFramed(
  context: PageContext,
  reply: FastifyReply,
  page: Page,
): Promise<FastifyReply> {
  return sendShown(context, reply, { value: { ...page, asOf: await presentAsOf(context) }, isFormer: false });
}

/** @param lead HTML that stands above what the page shows */
export async function framed(
  context: PageContext,
  { value, isFormer }: Shown<PublishedPage>,
  lead = '',
): Promise<string> {
  const { environment, health, canAct, guests } = context;
  const { title, section, view, values, asOf, period = '' } = value;
  const around: Frame = {
    ...{ title, section, environment, asOf, isFormer, lead, canAct, period },
    unwell: unwellIn(health),
    guests: guests.map(({ address, label, icon }) => [address, label, icon]),
    badges: await badgesOf(context),
  };
  return renderPage(view, around, values);
}

/** Counts beside menu entries. One that cannot be read is left out, since its own page reports the error. */
async function badgesOf(context: PageContext): Promise<Readonly<Record<string, number>>> {
  const alerts = async (): Promise<number> =>
    (await openAlerts(dirname(context.publishedPath))).filter(({ acknowledged }) => acknowledged === null)
      .length;
  const counted = {
    '/invoices': publishedFrame(context).then(({ waiting }) => waiting),
    '/quarantine': (context.quarantine?.list() ?? Promise.resolve([])).then(({ length }) => length),
    '/alerts': alerts(),
  };
  const found = await Promise.all(
    Object.entries(counted).map(async ([address, number]) => [address, await number.catch(() => 0)] as const),
  );
  return Object.fromEntries(found);
}

/** The banner above every page, at the time it is sent. */
function unwellIn(health: Health): Frame['unwell'] {
  return Object.entries(health.report().components)
    .filter(([, { isHealthy }]) => !isHealthy)
    .map(([name, { detail, since }]) => ({ name, detail, since }));
}

/** @param html a whole page; its values are escaped already */
export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(html);
}

/** For a page that asks more of the same reading. */
export async function asOfNow(asking: Ask): Promise<string | null> {
  const [row] = await asking('publication');
  return row ? asOfText(row.published_at, row.sequence) : null;
}

/** From when the numbers of a report are, and of which publication, as one line of text. */
export function asOfHead({ asOf, publication }: ReportHead): string {
  return asOfText(asOf, publication);
}

function asOfText(publishedAt: ReportCell | undefined, sequence: ReportCell | undefined): string {
  return `As of ${instant(publishedAt)}, publication ${count(sequence)}`;
}
