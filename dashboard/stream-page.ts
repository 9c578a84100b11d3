/**
 * Sends a slow page in parts, without a script: frame and form first, the rest in the same response when it
 * is ready.
 */

import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { isForPrograms } from './address.ts';
import {
  framedWithinLimit,
  type PageContext,
  type PublishedPage,
  presentAsOf,
  sendPage,
} from './page-context.ts';
import { splitPage } from './views.ts';

export interface StreamedPage {
  readonly title: string;
  readonly section: string;
  readonly period: string;
  /** The status of the answer, which is sent before anything is read. */
  readonly status: number;
  /** With true, the page is sent whole, because its status depends on its rows. */
  readonly waitsForStatus?: boolean;
  readonly page: Promise<PublishedPage & { readonly status?: number }>;
  readonly lead?: Promise<string>;
}

const READING = `<div class="reading card" role="status"><div class="card-body"><span class="spinner-border spinner-border-sm me-2"></span>Reading the shipments; the result follows here.</div></div>\n`;
const READY = '<div class="ready" hidden></div>\n';

/** @throws errors of the first moment; the page shows later ones */
export async function sendWhenReady(
  context: PageContext,
  reply: FastifyReply,
  { title, section, period, status, waitsForStatus, page, lead = Promise.resolve('') }: StreamedPage,
): Promise<FastifyReply> {
  if (isForPrograms(reply.request)) {
    lead.catch(() => undefined);
    const made = await page;
    return sendPage(context, reply.code(made.status ?? status), made);
  }
  const whole = Promise.all([page, lead]);
  whole.catch(() => undefined);
  const waited = new AbortController();
  const first = waitsForStatus
    ? await whole
    : await Promise.race([whole, sleep(context.streamAfterMs, null, waited)]).finally(() => waited.abort());
  if (first !== null) {
    const [made, above] = first;
    return sendPage(context, reply.code(made.status ?? status), made, above);
  }
  const split = async (made: PublishedPage) => splitPage(await framedWithinLimit(context, made, ''));
  const empty = { view: 'message', values: { message: '' }, asOf: await presentAsOf(context) };
  const begun = { ...empty, title, section, period };
  async function* parts(): AsyncGenerator<string> {
    yield (await split(begun)).above;
    try {
      yield (await lead) + READING;
      yield READY + (await split(await page)).below;
    } catch (error) {
      const { message } = context.errorPage(error, reply.request.url);
      yield READY + (await split({ ...begun, values: { message } })).below;
    }
  }
  return reply.code(status).type('text/html; charset=utf-8').send(Readable.from(parts()));
}
