/** Asks the endpoint from outside, as the service would: through TLS, over a connection of its own each time. */

import { request as askHttp } from 'node:http';
import { request as askHttps } from 'node:https';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { RoleContext } from './run-role.ts';

const ANSWERS_WITHIN_MS = 5_000;
/** Each question is a handshake, of which the endpoint's process does a half or both. */
const ASK_EVERY_MS = 5_000;
/** After a question that was not answered. */
const ASK_AGAIN_MS = 1_000;
/** One answer that is late may be a moment of load; red within 16 s. */
const UNWELL_AFTER = 2;
/** Trusts nobody, and does not read who could be trusted: whose certificate is shown is not the question. */
let asker: SecureContext | null = null;

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
    asker ??= createSecureContext({ ca: [] });
    const options = {
      ...{ agent: false, rejectUnauthorized: false, secureContext: asker },
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

/** Asks for ever; once soon, and again soon after what was not answered. @param deps.onState is told after each question, once the answer is certain */
export function watchEndpoint(deps: {
  /** null: it does not run just now, and is not asked. */
  readonly url: () => string | null;
  readonly onState: (state: EndpointState) => void;
  readonly everyMs?: number;
  readonly againMs?: number;
  readonly withinMs?: number;
}): { close(): void } {
  const { everyMs = ASK_EVERY_MS, againMs = ASK_AGAIN_MS } = deps;
  let failures = 0;
  let timer = setTimeout(look, againMs).unref();
  let isClosed = false;
  async function look(): Promise<void> {
    const url = deps.url();
    if (url !== null) {
      const state = await probeEndpoint(url, deps.withinMs);
      failures = state.isHealthy ? 0 : failures + 1;
      if (isClosed) return;
      if (failures === 0 || failures >= UNWELL_AFTER) deps.onState(state);
    }
    if (!isClosed) timer = setTimeout(look, failures === 0 ? everyMs : againMs).unref();
  }
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
