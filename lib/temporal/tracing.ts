import { setTimeout as sleep } from 'node:timers/promises';
import type { TracedDelivery, Tracing, TracingOptions } from './create-tracing.ts';

const CLOSE_TIMEOUT_MS = 2_000;

let active: Tracing | null = null;

export function activeTracing(): Tracing | null {
  return active;
}

export function traceDelivery<T>(delivery: TracedDelivery, work: () => Promise<T>): Promise<T> {
  return active === null ? work() : active.delivered(delivery, work);
}

/** Starts tracing; to be called before the first connection to Temporal. Returns null when no endpoint is set. */
export async function startTracing(options: TracingOptions): Promise<Tracing | null> {
  const { otlpEndpoint } = options.settings;
  if (otlpEndpoint === null) return null;
  const { createTracing } = await import('./create-tracing.ts');
  const tracing = createTracing({ ...options, otlpEndpoint });
  active = {
    ...tracing,
    async close() {
      active = null;
      const closed = tracing
        .close()
        .catch((error: unknown) => options.log.warn({ err: error }, 'the last spans were not sent'));
      await Promise.race([closed, sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
  return active;
}
