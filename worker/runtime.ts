import {
  type BufferedMetricUpdate,
  DefaultLogger,
  MetricsBuffer,
  makeTelemetryFilterString,
  Runtime,
} from '@temporalio/worker';
import type { Logger } from 'pino';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from '../lib/metrics.ts';
import { firstLine } from '../lib/system-errors.ts';

let isInstalled = false;

/**
 * The runtime handles no signals: it would stop workers before the endpoint has drained. To be called before the
 * first worker or native connection.
 */
export function installRuntime(log: Logger, metrics?: Metrics): void {
  if (isInstalled) return;
  isInstalled = true;
  Runtime.install({
    shutdownSignals: [],
    logger: temporalLogger(log),
    // Without forwarding, the native part writes to stderr, without our format and without removing secrets.
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
      ...(metrics === undefined ? {} : { metrics: { buffer: temporalMetrics(metrics) } }),
    },
  });
}

function temporalLogger(log: Logger): DefaultLogger {
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    const { error, taskToken: _, ...fields } = meta ?? {};
    const line = { ...fields, ...(error === undefined ? {} : { err: error }) };
    if (level === 'ERROR') log.error(line, message);
    else if (level === 'WARN' && error !== undefined) {
      // A failed attempt is retried: one line, with the stack only at debug level.
      log.warn({ ...fields, reason: firstLine(error) }, message);
      log.debug(line, message);
    } else if (level === 'WARN') log.warn(line, message);
    else log.debug(line, message);
  });
}

/** Other attributes of the SDK would be labels without a bound on their values. */
const LABELS = [
  ...['namespace', 'task_queue', 'worker_type', 'poller_type', 'workflow_type', 'activity_type'],
  ...['operation', 'status_code', 'failure_reason', 'eager'],
];
const BUCKETS_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];
const DRAIN_INTERVAL_MS = 2_000;

/** The SDK's own exporter would open another port. */
function temporalMetrics(metrics: Metrics): MetricsBuffer {
  const buffer = new MetricsBuffer({ maxBufferSize: 20_000, useSecondsForDurations: true });
  const recorders = new Map<string, (update: BufferedMetricUpdate) => void>();
  const drain = (): void => {
    for (const update of buffer.retrieveUpdates()) {
      const { name } = update.metric;
      const record = recorders.get(name) ?? createRecorder(metrics, update.metric);
      recorders.set(name, record);
      record(update);
    }
  };
  metrics.beforeRead(drain);
  setInterval(() => {
    try {
      drain();
    } catch {
      // An error here means that the runtime is shutting down.
    }
  }, DRAIN_INTERVAL_MS).unref();
  return buffer;
}

function createRecorder(
  { registry }: Metrics,
  { name, kind, unit, description }: BufferedMetricUpdate['metric'],
): (update: BufferedMetricUpdate) => void {
  const base = name.replace(/[^a-zA-Z0-9_]/g, '_');
  const help = description || `Temporal SDK metric ${name}.`;
  const common = { help, labelNames: LABELS, registers: [registry] };
  if (kind === 'counter') {
    const counter = new Counter({ ...common, name: withSuffix(base, '_total') });
    return ({ value, attributes }) => counter.inc(labelsOf(attributes), value);
  }
  if (kind === 'histogram') {
    const isTime = unit !== undefined && /^(s|seconds|duration|ms|milliseconds)$/.test(unit);
    const histogram = new Histogram({
      ...common,
      name: isTime ? withSuffix(base, '_seconds') : base,
      buckets: BUCKETS_SECONDS,
    });
    return ({ value, attributes }) => histogram.observe(labelsOf(attributes), value);
  }
  const gauge = new Gauge({ ...common, name: base });
  return ({ value, attributes }) => gauge.set(labelsOf(attributes), value);
}

function withSuffix(name: string, suffix: string): string {
  return name.endsWith(suffix) ? name : name + suffix;
}

function labelsOf(attributes: BufferedMetricUpdate['attributes']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) =>
      LABELS.includes(name) ? [[name, String(value)] as const] : [],
    ),
  );
}
