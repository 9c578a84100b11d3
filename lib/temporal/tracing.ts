/**
 * Sends spans of signals, workflows and activities to an OpenTelemetry collector, from the delivery that was received to the
 * publication that shows its rows. Off, and without any cost, until OTEL_EXPORTER_OTLP_ENDPOINT is set.
 */

import type { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import type { Logger } from 'pino';
import type { Settings } from '../config/settings.ts';

/** A delivery as the inbox knows it. */
export interface TracedDelivery {
  readonly eventId: string;
  readonly eventType: string;
  readonly invoiceId: string;
  /** ISO 8601 UTC: the trace begins here. */
  readonly receivedAt: string;
}

/** What was loaded and readers do not see yet, so that its trace ends with the publication that shows it. */
export interface TracedPublications {
  /** In the context of the activity that changed something. */
  noteChange(): void;
  /** @param publishedAt what was changed until then is in it */
  published(publication: { readonly sequence: number; readonly publishedAt: string }): void;
}

export interface Tracing {
  /** The root of a trace: from the instant of receipt until Temporal has the event. */
  delivered<T>(delivery: TracedDelivery, work: () => Promise<T>): Promise<T>;
  publications(): TracedPublications;
  /** For clients, workers and the bundle of the workflows. */
  readonly plugin: OpenTelemetryPlugin;
  /** Sends what was not sent yet and stops; a collector that is away costs two seconds. */
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly settings: Pick<Settings, 'otlpEndpoint' | 'environment'>;
  /** `webhook`, `worker`, …: the service's instance in the spans. */
  readonly role: string;
  readonly log: Logger;
  /** Errors are part of spans, and what a library writes into them is not in our hands. */
  readonly scrub: (text: string) => string;
}

const CLOSES_WITHIN_MS = 2_000;

let active: Tracing | null = null;

/** What clients and workers of this process are to be made with; null while tracing is off. */
export function activeTracing(): Tracing | null {
  return active;
}

/** As `Tracing.delivered`; while tracing is off, the work alone. */
export function traceDelivery<T>(delivery: TracedDelivery, work: () => Promise<T>): Promise<T> {
  return active === null ? work() : active.delivered(delivery, work);
}

/**
 * Turns tracing on for this process when an endpoint is set. To be called before the first connection to Temporal.
 *
 * @returns null when there is no endpoint
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
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSES_WITHIN_MS);
      });
      await Promise.race([
        late,
        tracing
          .close()
          .catch((error: unknown) => options.log.warn({ err: error }, 'the last spans were not sent')),
      ]);
      clearTimeout(timer);
    },
  };
  return active;
}
