/** The libraries behind `tracing.ts`, loaded only when tracing is on. */

import { context, type SpanContext, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import type { TracedPublications, Tracing, TracingOptions } from './tracing.ts';

export function createTracing(options: TracingOptions & { readonly otlpEndpoint: string }): Tracing {
  const { otlpEndpoint, settings, role, log, scrub } = options;
  const resource = new Resource({
    'service.name': 'billsync',
    'service.instance.id': role,
    'deployment.environment': settings.environment,
  });
  const url = `${otlpEndpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = heard(asToldElsewhere(new OTLPTraceExporter({ url }), scrub), log);
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
            // It is tried again, in a trace of its own.
            span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
            throw error;
          } finally {
            span.end();
          }
        },
      ),
    publications: () => tracePublications(tracer),
    plugin: new OpenTelemetryPlugin({ resource, spanProcessor: processor }),
    close: () => provider.shutdown(),
  };
}

/** Of a worker that cannot publish for long; the oldest lose the end of their trace. */
const MOST_WAITING = 10_000;

function tracePublications(tracer: Tracer): TracedPublications {
  let waiting: { readonly parent: SpanContext; readonly atMs: number }[] = [];
  return {
    noteChange() {
      const parent = trace.getActiveSpan()?.spanContext();
      if (parent === undefined) return;
      waiting.push({ parent, atMs: Date.now() });
      if (waiting.length > MOST_WAITING) waiting.shift();
    },
    published({ sequence, publishedAt }) {
      const untilMs = Date.parse(publishedAt);
      const shown = waiting.filter(({ atMs }) => atMs <= untilMs);
      waiting = waiting.filter(({ atMs }) => atMs > untilMs);
      for (const { parent, atMs } of shown) {
        const options = { startTime: atMs, attributes: { 'billsync.publication': sequence } };
        tracer.startSpan('publication', options, trace.setSpanContext(context.active(), parent)).end();
      }
    },
  };
}

/** `ExportResultCode` of a package that is not ours to import. */
const [SUCCESS, FAILED] = [0, 1];
const TOLD_EVERY_MS = 10 * 60_000;

/** A collector that takes nothing is no reason to stop, and nobody would know without a word. */
function heard(exporter: SpanExporter, log: TracingOptions['log']): SpanExporter {
  let toldMs = Number.NEGATIVE_INFINITY;
  return {
    ...exporter,
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code !== SUCCESS && performance.now() - toldMs > TOLD_EVERY_MS) {
          toldMs = performance.now();
          log.warn({ count: spans.length, err: result.error }, 'the collector did not take spans');
        }
        done(result);
      }),
  };
}

/**
 * Spans of failures carry messages and stacks. Those of workflows have all that Temporal knows of the run as objects, which are no
 * attributes (a collector refuses them, and all spans that came with them) and are read in Temporal itself.
 */
function asToldElsewhere(exporter: SpanExporter, scrub: (text: string) => string): SpanExporter {
  const clean = <T>(value: T): T => (typeof value === 'string' ? (scrub(value) as T) : value);
  const cleanAll = <T extends object>(values: T): T =>
    Object.fromEntries(
      Object.entries(values).flatMap(([key, value]) => (isAttribute(value) ? [[key, clean(value)]] : [])),
    ) as T;
  const cleaned = (span: ReadableSpan): ReadableSpan =>
    Object.create(span, {
      attributes: { value: cleanAll(span.attributes) },
      status: { value: cleanAll(span.status) },
      events: {
        value: span.events.map((event) => ({ ...event, attributes: cleanAll(event.attributes ?? {}) })),
      },
    }) as ReadableSpan;
  return {
    export(spans, done) {
      try {
        exporter.export(spans.map(cleaned), done);
      } catch (error) {
        // A span that cannot be sent is not worth a delivery.
        done({ code: FAILED, error: error as Error });
      }
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush === undefined
      ? {}
      : { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  };
}

/** A word, a number, or a list of them: what the specification of OpenTelemetry has. */
function isAttribute(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each !== 'object' && isAttribute(each));
  return ['string', 'number', 'boolean'].includes(typeof value);
}
