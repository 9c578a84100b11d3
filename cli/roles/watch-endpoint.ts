import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Check, CheckedState, Sinks } from '../../lib/health/health.ts';

const ANSWERS_WITHIN_MS = 5_000;
const PROBE_EVERY_MS = 5_000;
const PROBE_AGAIN_MS = 1_000;
/** A new connection each time, through TLS as the service calls it; only an answer is needed, so no CA is loaded. */
const agent = new Agent({ pipelining: 0, connect: { rejectUnauthorized: false, ca: [] } });

export async function probeEndpoint(webhookUrl: string, withinMs = ANSWERS_WITHIN_MS): Promise<CheckedState> {
  const url = new URL('/healthz', webhookUrl);
  try {
    const signal = AbortSignal.timeout(withinMs);
    const { statusCode, body } = await request(url, { dispatcher: agent, signal });
    await body.dump();
    if (statusCode === 200) return { isHealthy: true, detail: '' };
    const detail = `${url.origin} answers ${statusCode}: the inbox cannot be written.`;
    return { isHealthy: false, detail };
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    const why = name === 'TimeoutError' ? `in ${withinMs / 1_000} s` : `(${code ?? message})`;
    return { isHealthy: false, detail: `${url.origin} does not answer ${why}.` };
  }
}

/** One late answer may be a moment of load, so a failure is probed again. @param url null: it does not run now */
export function endpointCheck(url: () => string | null, { health, alerts }: Sinks): Check {
  return {
    component: 'endpoint',
    everyMs: PROBE_EVERY_MS,
    async run(signal) {
      let address = url();
      let state = address === null ? null : await probeEndpoint(address);
      if (state?.isHealthy === false) {
        await sleep(PROBE_AGAIN_MS, undefined, { ref: false });
        address = url();
        state = address === null ? null : await probeEndpoint(address);
      }
      if (state === null || signal.aborted) return;
      health.set('endpoint', state);
      if (state.isHealthy) return alerts.resolve('endpoint/unanswered');
      alerts.raise({
        key: 'endpoint/unanswered',
        title: 'The endpoint does not answer',
        detail: `${state.detail} The service sends each event only twice; look at the log of the endpoint.`,
      });
    },
  };
}
