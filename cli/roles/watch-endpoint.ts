/** From outside, as the service calls it: through TLS, on a new connection each time. */

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { RoleContext } from './run-role.ts';

const ANSWERS_WITHIN_MS = 5_000;
const PROBE_EVERY_MS = 5_000;
const PROBE_AGAIN_MS = 1_000;
/** One late answer may be a moment of load; two are reported, within 16 s. */
const UNHEALTHY_AFTER = 2;
/** Without the system's CA certificates, which take a while to load. */
let secureContext: SecureContext | null = null;

export interface EndpointState {
  readonly isHealthy: boolean;
  readonly detail: string;
}

/** The certificate is not verified: only an answer is needed. */
export function probeEndpoint(webhookUrl: string, withinMs = ANSWERS_WITHIN_MS): Promise<EndpointState> {
  const url = new URL('/healthz', webhookUrl);
  return new Promise((resolve) => {
    const finish = (detail: string): void => {
      resolve({ isHealthy: detail === '', detail });
      probe.destroy();
    };
    secureContext ??= createSecureContext({ ca: [] });
    const options = {
      ...{ agent: false, rejectUnauthorized: false, secureContext },
      signal: AbortSignal.timeout(withinMs),
    };
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const probe = request(url, options, ({ statusCode }) =>
      finish(statusCode === 200 ? '' : `${url.origin} answers ${statusCode}: the inbox cannot be written.`),
    );
    probe.on('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.name === 'AbortError' ? `in ${withinMs / 1_000} s` : `(${error.code ?? error.message})`;
      finish(`${url.origin} does not answer ${why}.`);
    });
    probe.end();
  });
}

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
      detail: `${state.detail} The service sends each event only twice; look at the log of the endpoint.`,
    });
  };
}

export function watchEndpoint(deps: {
  readonly url: () => string | null;
  readonly onState: (state: EndpointState) => void;
  readonly everyMs?: number;
  readonly againMs?: number;
  readonly withinMs?: number;
}): { close(): void } {
  const { everyMs = PROBE_EVERY_MS, againMs = PROBE_AGAIN_MS } = deps;
  let failures = 0;
  let timer = setTimeout(probe, againMs).unref();
  let isClosed = false;
  async function probe(): Promise<void> {
    const url = deps.url();
    if (url !== null) {
      const state = await probeEndpoint(url, deps.withinMs);
      failures = state.isHealthy ? 0 : failures + 1;
      if (isClosed) return;
      if (failures === 0 || failures >= UNHEALTHY_AFTER) deps.onState(state);
    }
    if (!isClosed) timer = setTimeout(probe, failures === 0 ? everyMs : againMs).unref();
  }
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
