/**
 * Which redirects are followed: those that stay where the request was sent (ADR 10). A service that adds a slash, writes a
 * path in lower case or moves an endpoint answers so; whoever points elsewhere would get what the request carries.
 */

import type { HttpRequest, HttpStream } from './http.ts';

/** So many in a row; the next is an answer like any other, so that a circle ends. */
export const MOST_REDIRECTS = 3;

/** 301 and 302 may turn a POST into a GET, 303 always does: a call that changes its method is another call. */
const KEEPS_METHOD = new Set([307, 308]);
const REDIRECTS = new Set([301, 302, 303, ...KEEPS_METHOD]);

/** @returns the request at the place that the answer names; null when it is no redirect, or none that is followed */
export function redirected(
  request: HttpRequest,
  { status, headers }: Pick<HttpStream, 'status' | 'headers'>,
): HttpRequest | null {
  if (!REDIRECTS.has(status) || (request.method !== 'GET' && !KEEPS_METHOD.has(status))) return null;
  const { location } = headers;
  if (location === undefined || !URL.canParse(location, request.url)) return null;
  const target = new URL(location, request.url);
  // Scheme, host and port: a token, a client certificate and a presigned URL are for these alone.
  return target.origin === new URL(request.url).origin ? { ...request, url: target.href } : null;
}
