/** `format=json`: what a page of figures shows, for programs. Amounts and weights are exact text, counts are numbers. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import { one, type Query, withQuery } from './address.ts';

/** Whether the address asks for the page's figures instead of the page. */
export function asksForFigures({ query }: Pick<FastifyRequest, 'query'>): boolean {
  return one(query as Query, 'format') === 'json';
}

/** Work that a page and its figures share, done once for both. */
export function addressOfPage({ url, query }: Pick<FastifyRequest, 'url' | 'query'>): string {
  return withQuery(url.split('?')[0] ?? '', query as Query, { format: null });
}

/**
 * How a page is asked of the cache for this reader: figures alone cannot say that they are of a former publication, so a
 * program waits for those of the present one.
 */
export function patienceFor(request: Pick<FastifyRequest, 'query'>): { readonly isPresent: boolean } {
  return { isPresent: asksForFigures(request) };
}

/** The figures of a page, as JSON. */
export function sendFigures(reply: FastifyReply, figures: unknown): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(`${JSON.stringify(figures)}\n`);
}
