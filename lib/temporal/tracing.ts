/**
 * OpenTelemetry traces from a received delivery to the publication that contains its rows. Off unless
 * OTEL_EXPORTER_OTLP_ENDPOINT is set; only then does `create-tracing.ts` load the libraries.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import type { Logger } from 'pino';
import type { Settings } from '../config/settings.ts';

export interface TracedDelivery {
  readonly eventId: string;
  readonly eventType: string;
  readonly invoiceId: string;
  /** ISO 8601 UTC: start of the trace. */
  readonly receivedAt: string;
}

/** Ends each trace with the publication that shows its change to readers. */
export interface TracedPublications {
  /** To be called in the context of the activity that changed something. */
  recordChange(): void;
  /** @param publication contains every change until `publishedAt` */
  published(publication: { readonly sequence: number; readonly publishedAt: string }): void;
}

export interface Tracing {
  /** Root span of a trace: from receipt until Temporal has accepted the event. */
  delivered<T>(delivery: TracedDelivery, work: () => Promise<T>): Promise<T>;
  publications(): TracedPublications;
  /** For clients, workers and the workflow bundle. */
  readonly plugin: OpenTelemetryPlugin;
  /** Sends the remaining spans and stops, within 2 s. */
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly settings: Pick<Settings, 'otlpEndpoint' | 'environment'>;
  /** `webhook`, `worker`, …: the service instance id of the spans. */
  readonly role: string;
  readonly log: Logger;
  /** Removes secrets: spans contain error texts, which libraries write. */
  readonly scrub: (text: string) => string;
}

const CLOSE_TIMEOUT_MS = 2_000;

let active: Tracing | null = null;

/** null while tracing is off. */
export function activeTracing(): Tracing | null {
  return active;
}

/** As `Tracing.delivered`; while tracing is off, only the work. */
export function traceDelivery<T>(delivery: TracedDelivery, work: () => Promise<T>): Promise<T> {
  return active === null ? work() : active.delivered(delivery, work);
}

/**
 * To be called before the first connection to Temporal.
 *
 * @returns null when no endpoint is set
 */
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
