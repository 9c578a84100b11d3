/** What a role counts, in the shape that Prometheus reads at `/metrics`. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type LabelOf, METRICS, type MetricName, type NameOf } from './metric-definitions.ts';

export interface Metrics {
  readonly registry: Registry;
  /** Each is made once per process, so every part may ask for it; it shows on `/metrics` from then on. */
  counter<Name extends NameOf<'counter'>>(name: Name): Counter<LabelOf<Name>>;
  gauge<Name extends NameOf<'gauge'>>(name: Name): Gauge<LabelOf<Name>>;
  histogram<Name extends NameOf<'histogram'>>(name: Name): Histogram<LabelOf<Name>>;
  /** Runs `measure` before the metrics are read, at most every `everyMs`; its failure leaves the values as they were. */
  beforeRead(measure: () => Promise<void> | void, everyMs?: number): void;
  /** What another process of the same `up` counts, as its `ownText`; replaces what it said before. */
  setNeighbour(name: string, text: string): void;
  /** What this process counts. */
  ownText(): Promise<string>;
  /** The text of `/metrics`: what this process and its neighbours count. */
  text(): Promise<string>;
}

const PREFIX = 'billsync_';
/**
 * How often the lag of the event loop is looked at, in milliseconds; what a lag reads when there is none. At prom-client's 10 it was
 * a quarter of what an idle process takes.
 */
const LAG_EVERY_MS = 50;
type AnyMetric = Counter<string> | Gauge<string> | Histogram<string>;

/** @param role stands as a label on every metric */
export function createMetrics(role: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS });
  const neighbours = new Map<string, string>();
  const made = new Map<MetricName, AnyMetric>();
  const measures: (() => Promise<void>)[] = [];

  function once<Metric extends AnyMetric>(name: MetricName): Metric {
    const metric = made.get(name) ?? make(name);
    made.set(name, metric);
    return metric as Metric;
  }

  function make(name: MetricName): AnyMetric {
    const { kind, help, labels } = METRICS[name];
    const shared = { name: PREFIX + name, help, labelNames: [...labels], registers: [registry] };
    if (kind === 'counter') return new Counter<string>(shared);
    if (kind === 'gauge') {
      const gauge = new Gauge<string>(shared);
      // Nothing until it was measured: an instant of 0 would be an age of half a century.
      if (labels.length === 0) gauge.remove();
      return gauge;
    }
    return new Histogram<string>({ ...shared, buckets: [...METRICS[name].buckets] });
  }

  async function ownText(): Promise<string> {
    await Promise.all(measures.map((measure) => measure()));
    return registry.metrics();
  }

  return {
    registry,
    counter: once,
    gauge: once,
    histogram: once,
    beforeRead: (measure, everyMs = 0) => void measures.push(atMostEvery(everyMs, measure)),
    setNeighbour: (name, text) => void neighbours.set(name, text),
    ownText,
    text: async () => joined([await ownText(), ...neighbours.values()]),
  };
}

function atMostEvery(everyMs: number, measure: () => Promise<void> | void): () => Promise<void> {
  let nextMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | null = null;
  return async () => {
    if (running === null && performance.now() >= nextMs) {
      nextMs = performance.now() + everyMs;
      running = (async () => measure())()
        .catch(() => undefined)
        .finally(() => {
          running = null;
        });
    }
    await running;
  };
}

/** A metric is described once, and all its lines follow (Prometheus); the label `role` keeps the processes apart. */
function joined(texts: readonly string[]): string {
  const metrics = new Map<string, string>();
  for (const metric of texts.flatMap((text) => text.split(/^(?=# HELP )/m))) {
    const name = /^# HELP (\S+)/.exec(metric)?.[1] ?? '';
    const before = metrics.get(name);
    const lines = `${metric.trim()}\n`;
    metrics.set(name, before === undefined ? lines : before + lines.replace(/^#.*\n/gm, ''));
  }
  return [...metrics.values()].join('\n');
}
