/** Asks the endpoint from outside, as the service would: through TLS, over a connection of its own each time. */

import { request as askHttp } from 'node:http';
import { request as askHttps } from 'node:https';
import type { RoleContext } from './run-role.js';

const ANSWERS_WITHIN_MS = 5_000;
const ASK_EVERY_MS = 3_000;
/** One answer that is late may be a moment of load; red within 16 s. */
const UNWELL_AFTER = 2;

export interface EndpointState {
  readonly isHealthy: boolean;
  /** What is wrong; empty when it answers. */
  readonly detail: string;
}

/** Once. Whether it answers is the question, not whose certificate it shows. */
export function probeEndpoint(webhookUrl: string, withinMs = ANSWERS_WITHIN_MS): Promise<EndpointState> {
  const url = new URL('/healthz', webhookUrl);
  return new Promise((resolve) => {
    const tell = (detail: string): void => {
      resolve({ isHealthy: detail === '', detail });
      asking.destroy();
    };
    const options = {
      agent: false,
      rejectUnauthorized: false,
      signal: AbortSignal.timeout(withinMs),
    };
    const ask = url.protocol === 'https:' ? askHttps : askHttp;
    const asking = ask(url, options, ({ statusCode }) => {
      if (statusCode === 200) tell('');
      else tell(`${url.origin} answers ${statusCode}: the inbox cannot be written.`);
    });
    asking.on('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.name === 'AbortError' ? `in ${withinMs / 1_000} s` : `(${error.code ?? error.message})`;
      tell(`${url.origin} does not answer ${why}.`);
    });
    asking.end();
  });
}

/** Says in health and by an alert how the endpoint is. */
export function reportEndpoint({ health, alerts }: Pick<RoleContext, 'health' | 'alerts'>) {
  return (state: EndpointState): void => {
    health.set('endpoint', state);
    if (state.isHealthy) {
      alerts.resolve('endpoint/unanswered');
      return;
    }
    alerts.raise({
      key: 'endpoint/unanswered',
      title: 'The endpoint does not answer',
      detail: `${state.detail} The service tries each event only twice; look at the log of the endpoint.`,
    });
  };
}

/** Asks for ever. @param deps.onState is told after each question, once the answer is certain */
export function watchEndpoint(deps: {
  /** null: it does not run just now, and is not asked. */
  readonly url: () => string | null;
  readonly onState: (state: EndpointState) => void;
  readonly everyMs?: number;
  readonly withinMs?: number;
}): { close(): void } {
  let failures = 0;
  let isAsking = false;
  const timer = setInterval(() => void look(), deps.everyMs ?? ASK_EVERY_MS).unref();
  async function look(): Promise<void> {
    const url = deps.url();
    if (isAsking || url === null) return;
    isAsking = true;
    const state = await probeEndpoint(url, deps.withinMs);
    isAsking = false;
    failures = state.isHealthy ? 0 : failures + 1;
    if (failures === 0 || failures >= UNWELL_AFTER) deps.onState(state);
  }
  return { close: () => clearInterval(timer) };
}
