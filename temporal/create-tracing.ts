/** The libraries behind `tracing.ts`, loaded only when tracing is on. */

import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { Tracing, TracingOptions } from './tracing.js';

export function createTracing(options: TracingOptions & { readonly otlpEndpoint: string }): Tracing {
  const { otlpEndpoint, settings, role, log, scrub } = options;
  const resource = new Resource({
    'service.name': 'billsync',
    'service.instance.id': role,
    'deployment.environment': settings.environment,
  });
  const url = `${otlpEndpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = withoutSecrets(new OTLPTraceExporter({ url }), scrub);
  const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 1_000 });
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  provider.register();
  log.info({ url }, 'spans are sent');
  return {
    client: new OpenTelemetryWorkflowClientInterceptor(),
    activity: (context) => ({
      inbound: new OpenTelemetryActivityInboundInterceptor(context),
      outbound: new OpenTelemetryActivityOutboundInterceptor(context),
    }),
    sinks: { exporter: makeWorkflowExporter(processor, resource) },
    close: () => provider.shutdown(),
  };
}

/** `ExportResultCode.FAILED` of a package that is not ours to import. */
const FAILED = 1;

/** Spans of failures carry messages and stacks. */
function withoutSecrets(exporter: SpanExporter, scrub: (text: string) => string): SpanExporter {
  const clean = <T>(value: T): T => (typeof value === 'string' ? (scrub(value) as T) : value);
  const cleanAll = <T extends object>(values: T): T =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, clean(value)])) as T;
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
