/**
 * Sends a page as it becomes known: the frame and what can be chosen at once, the figures when they are there.
 *
 * Few questions on millions of shipments take longer than a second, and only for the first who asks them of a
 * publication. He is shown where he is, and reads and sets filters meanwhile; the answer follows in the same response,
 * so it needs no script and no second request. A page that is there within a moment is sent whole, with its status.
 */

import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { asksForFigures } from './figures.ts';
import type { Shown } from './page-cache.ts';
import { framed, type PageContext, type PublishedPage, presentAsOf, sendShown } from './page-context.ts';
import { splitPage } from './views.ts';

export interface StreamedPage {
  readonly title: string;
  readonly section: string;
  readonly period?: string;
  /** The status, which is sent before anything is read; 200 by default. */
  readonly status?: number;
  /** Only the figures can tell whether it is refused: nothing is sent before them. */
  readonly statusComesWithFigures?: boolean;
  readonly page: Promise<Shown<PublishedPage & { readonly status?: number }>>;
  /** HTML that stands above the figures and does not depend on them. */
  readonly lead?: Promise<string>;
}

/** Stands until the figures follow; the style then takes it away. */
const READING =
  '<p class="reading text-secondary" role="status">The shipments are being read; the figures follow here.</p>\n';
const KNOWN = '<div class="known" hidden></div>\n';

/** @throws whatever `page` or `lead` throw within the first moment; later failures are told within the page */
export async function sendWhenKnown(
  context: PageContext,
  reply: FastifyReply,
  {
    title,
    section,
    period = '',
    status = 200,
    statusComesWithFigures,
    page,
    lead = Promise.resolve(''),
  }: StreamedPage,
): Promise<FastifyReply> {
  if (asksForFigures(reply.request)) {
    lead.catch(() => undefined);
    const shown = await page;
    return sendShown(context, reply.code(shown.value.status ?? status), shown);
  }
  const whole = Promise.all([page, lead]);
  // Streamed parts are awaited one by one.
  whole.catch(() => undefined);
  const waited = new AbortController();
  const first = statusComesWithFigures
    ? await whole
    : await Promise.race([whole, sleep(context.firstWordsMs, null, waited)]).finally(() => waited.abort());
  if (first !== null) {
    const [shown, above] = first;
    return sendShown(context, reply.code(shown.value.status ?? status), shown, above);
  }
  const split = async (value: PublishedPage, isFormer = false) =>
    splitPage(await framed(context, { value, isFormer }));
  const empty = { ...EMPTY, title, section, period, asOf: await presentAsOf(context) };
  async function* parts(): AsyncGenerator<string> {
    yield (await split(empty)).above;
    try {
      yield (await lead) + READING;
      const { value, isFormer } = await page;
      yield KNOWN + (await split(value, isFormer)).below;
    } catch (error) {
      const { message } = context.tell(error, reply.request.url);
      yield KNOWN + (await split({ ...empty, values: { message } })).below;
    }
  }
  return reply.code(status).type('text/html; charset=utf-8').send(Readable.from(parts()));
}

const EMPTY = { view: 'message', values: { message: '' } } as const;
