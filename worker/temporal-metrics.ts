/**
 * Puts what Temporal's SDK counts on our own `/metrics`. It is taken from the SDK's buffer: its own exporter would
 * open a port of its own, which nobody set and nobody guards.
 */

import { type BufferedMetricUpdate, MetricsBuffer } from '@temporalio/worker';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from '../lib/metrics.ts';

/** What the SDK says of a measurement; others would be labels that nobody bounds. */
const LABELS = [
  ...['namespace', 'task_queue', 'worker_type', 'poller_type', 'workflow_type', 'activity_type'],
  ...['operation', 'status_code', 'failure_reason', 'eager'],
];
const SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];
/** A busy worker says some hundreds in a second. */
const DRAIN_EVERY_MS = 2_000;

/** @returns what the runtime is to be installed with */
export function temporalMetrics(metrics: Metrics): MetricsBuffer {
  const buffer = new MetricsBuffer({ maxBufferSize: 20_000, useSecondsForDurations: true });
  const made = new Map<string, (update: BufferedMetricUpdate) => void>();
  const drain = (): void => {
    for (const update of buffer.retrieveUpdates()) {
      const { name } = update.metric;
      const note = made.get(name) ?? counterpart(metrics, update.metric);
      made.set(name, note);
      note(update);
    }
  };
  metrics.beforeRead(drain);
  setInterval(() => {
    try {
      drain();
    } catch {
      // The runtime is shutting down; nobody reads any more.
    }
  }, DRAIN_EVERY_MS).unref();
  return buffer;
}

function counterpart(
  { registry }: Metrics,
  { name: given, kind, unit, description }: BufferedMetricUpdate['metric'],
): (update: BufferedMetricUpdate) => void {
  const base = given.replace(/[^a-zA-Z0-9_]/g, '_');
  const help = description === undefined || description === '' ? `Of Temporal's SDK: ${given}.` : description;
  const common = { help, labelNames: LABELS, registers: [registry] };
  if (kind === 'counter') {
    const counter = new Counter({ ...common, name: suffixed(base, '_total') });
    return ({ value, attributes }) => counter.inc(labelsOf(attributes), value);
  }
  if (kind === 'histogram') {
    const isTime = unit !== undefined && /^(s|seconds|duration|ms|milliseconds)$/.test(unit);
    const name = isTime ? suffixed(base, '_seconds') : base;
    const histogram = new Histogram({ ...common, name, buckets: SECONDS });
    return ({ value, attributes }) => histogram.observe(labelsOf(attributes), value);
  }
  const gauge = new Gauge({ ...common, name: base });
  return ({ value, attributes }) => gauge.set(labelsOf(attributes), value);
}

function suffixed(name: string, suffix: string): string {
  return name.endsWith(suffix) ? name : name + suffix;
}

function labelsOf(attributes: BufferedMetricUpdate['attributes']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) =>
      LABELS.includes(name) ? [[name, String(value)] as const] : [],
    ),
  );
}
