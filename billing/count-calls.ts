/** Counts what the billing service and its storage are asked, by endpoint and answer. */

import type { Metrics } from '../lib/metrics.ts';
import type { Http } from './http.ts';

/** By the path, which alone tells them apart (spec 4); presigned URLs lead anywhere else. */
const ENDPOINTS: readonly (readonly [RegExp, string])[] = [
  [/\/oauth\/token$/, 'token'],
  [/\/api\/v1\/deliveryexperience\/ping$/, 'ping'],
  [/\/api\/v1\/billing\/invoices\/[^/]+\/regenerate-presigned-url$/, 'regenerate'],
  [/\/api\/v1\/billing\/invoices\/[^/]+\/export-csv$/, 'export-csv'],
  [/\/api\/v1\/billing\/invoices\/[^/]+$/, 'details'],
];

/** @returns the same, each call of which is counted and timed until its answer (of `open`: until its head) */
export function countedHttp(http: Http, metrics: Metrics | undefined): Http {
  if (metrics === undefined) return http;
  const calls = metrics.counter('service_calls_total');
  const seconds = metrics.histogram('service_call_seconds');

  async function counted<Answer extends { readonly status: number }>(
    url: string,
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    const endpoint = endpointOf(url);
    const stop = seconds.startTimer({ endpoint });
    let answer = 'aborted';
    try {
      const answered = await call();
      answer = String(answered.status);
      return answered;
    } catch (error) {
      const code = (error as { readonly code?: unknown } | null)?.code;
      // Codes of ours are words; anything else would be a label that nobody bounds.
      if (typeof code === 'string' && /^[a-z-]{1,40}$/.test(code)) answer = code;
      throw error;
    } finally {
      stop();
      calls.inc({ endpoint, answer });
    }
  }

  return {
    ...http,
    send: (request, limits) => counted(request.url, () => http.send(request, limits)),
    open: (request) => counted(request.url, () => http.open(request)),
  };
}

function endpointOf(url: string): string {
  const path = URL.canParse(url) ? new URL(url).pathname : '';
  return ENDPOINTS.find(([pattern]) => pattern.test(path))?.[1] ?? 'storage';
}
