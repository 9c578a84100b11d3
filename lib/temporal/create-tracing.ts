import {
  context,
  propagation,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import type { Logger } from 'pino';
import type { Settings } from '../config/settings.ts';

export interface TracedDelivery {
  readonly eventId: string;
  readonly eventType: string;
  readonly invoiceId: string;
  readonly receivedAt: string;
}

export interface TracedPublications {
  /** Records a change; to be called in the context of the activity that made it. */
  recordChange(): void;
  published(publication: { readonly sequence: number; readonly publishedAt: string }): void;
}

export interface Tracing {
  delivered<T>(delivery: TracedDelivery, work: () => Promise<T>): Promise<T>;
  publications(): TracedPublications;
  readonly plugin: OpenTelemetryPlugin;
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly settings: Pick<Settings, 'otlpEndpoint' | 'environment'>;
  readonly role: string;
  readonly log: Logger;
  /** Spans contain error texts of libraries. */
  readonly scrub: (text: string) => string;
}

export function createTracing(options: TracingOptions & { readonly otlpEndpoint: string }): Tracing {
  const { otlpEndpoint, settings, role, log } = options;
  const resource = new Resource({
    'service.name': 'billsync',
    'service.instance.id': role,
    'deployment.environment': settings.environment,
  });
  const url = `${otlpEndpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = scrubbedExporter(new OTLPTraceExporter({ url }), options);
  const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 1_000 });
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  provider.register();
  const tracer = provider.getTracer('billsync');
  log.info({ url }, 'spans are sent');
  return {
    delivered: ({ receivedAt, eventId, eventType, invoiceId }, work) =>
      tracer.startActiveSpan(
        'delivery',
        {
          root: true,
          startTime: Date.parse(receivedAt),
          attributes: {
            'billsync.event_id': eventId,
            'billsync.event_type': eventType,
            'billsync.invoice_id': invoiceId,
          },
        },
        async (span) => {
          try {
            return await work();
          } catch (error) {
            // A failed attempt ends its trace, because the retry starts one of its own.
            span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
            throw error;
          } finally {
            span.end();
          }
        },
      ),
    publications: () => tracePublications(tracer),
    plugin: new OpenTelemetryPlugin({ resource, spanProcessor: processor }),
    async close() {
      await provider.shutdown();
      // `register` is ignored while an earlier provider is the global one.
      for (const global of [trace, context, propagation]) global.disable();
    },
  };
}

const MAX_UNPUBLISHED = 10_000;

function tracePublications(tracer: Tracer): TracedPublications {
  let unpublished: { readonly parent: SpanContext; readonly atMs: number }[] = [];
  return {
    recordChange() {
      const parent = trace.getActiveSpan()?.spanContext();
      if (parent === undefined) return;
      unpublished.push({ parent, atMs: Date.now() });
      if (unpublished.length > MAX_UNPUBLISHED) unpublished.shift();
    },
    published({ sequence, publishedAt }) {
      const untilMs = Date.parse(publishedAt);
      const contained = unpublished.filter(({ atMs }) => atMs <= untilMs);
      unpublished = unpublished.filter(({ atMs }) => atMs > untilMs);
      for (const { parent, atMs } of contained) {
        const options = { startTime: atMs, attributes: { 'billsync.publication': sequence } };
        tracer.startSpan('publication', options, trace.setSpanContext(context.active(), parent)).end();
      }
    },
  };
}

/** `ExportResultCode`, which belongs to a package that is not a direct dependency. */
const [SUCCESS, FAILED] = [0, 1];
const LOG_INTERVAL_MS = 10 * 60_000;

function scrubbedExporter(
  exporter: SpanExporter,
  { log, scrub }: Pick<TracingOptions, 'log' | 'scrub'>,
): SpanExporter {
  let loggedMs = Number.NEGATIVE_INFINITY;
  return {
    export(spans, done) {
      const report: typeof done = (result) => {
        if (result.code !== SUCCESS && performance.now() - loggedMs > LOG_INTERVAL_MS) {
          loggedMs = performance.now();
          log.warn({ count: spans.length, err: result.error }, 'the collector did not accept spans');
        }
        done(result);
      };
      try {
        exporter.export(
          spans.map((span) => scrubbed(span, scrub)),
          report,
        );
      } catch (error) {
        // A span that cannot be sent must not fail a delivery.
        report({ code: FAILED, error: error as Error });
      }
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush === undefined
      ? {}
      : { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  };
}

/** Drops attributes that are objects (Temporal's interceptors add some): a collector rejects the whole batch for one. */
function scrubbed(span: ReadableSpan, scrub: (text: string) => string): ReadableSpan {
  const scrubAll = <T extends object>(values: T): T =>
    Object.fromEntries(
      Object.entries(values).flatMap(([key, value]) =>
        isAttribute(value) ? [[key, typeof value === 'string' ? scrub(value) : value]] : [],
      ),
    ) as T;
  return Object.create(span, {
    attributes: { value: scrubAll(span.attributes) },
    status: { value: scrubAll(span.status) },
    events: {
      value: span.events.map((event) => ({ ...event, attributes: scrubAll(event.attributes ?? {}) })),
    },
  }) as ReadableSpan;
}

function isAttribute(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each !== 'object' && isAttribute(each));
  return ['string', 'number', 'boolean'].includes(typeof value);
}
