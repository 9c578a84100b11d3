/**
 * Every metric of ours, with the names and units that Prometheus asks for: seconds and bytes, `_total` on counters, and
 * labels of few values (never an invoice, an event or a URL). docs/reference/metrics.md is made of this table.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

const counter = <const Labels extends readonly string[] = []>(help: string, labels?: Labels) =>
  ({ kind: 'counter', help, labels: labels ?? ([] as unknown as Labels) }) as const;
const gauge = <const Labels extends readonly string[] = []>(help: string, labels?: Labels) =>
  ({ kind: 'gauge', help, labels: labels ?? ([] as unknown as Labels) }) as const;
const histogram = <const Labels extends readonly string[] = []>(
  help: string,
  buckets: readonly number[],
  labels?: Labels,
) => ({ kind: 'histogram', help, buckets, labels: labels ?? ([] as unknown as Labels) }) as const;

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** By name without the prefix `billsync_`. */
export const METRICS = {
  // Receiving
  deliveries_total: counter(
    'Deliveries answered, by what was answered: accepted, duplicate, ignored, quarantined, rejected, unauthorized, unavailable.',
    ['status'],
  ),
  acknowledge_seconds: histogram(
    'From the first byte of a delivery to its answer.',
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15],
  ),
  inbox_backlog: gauge('Deliveries on disk that were not yet archived and given to Temporal.'),
  inbox_backlog_age_seconds: gauge('Age of the oldest delivery of the backlog.'),
  forwarded_total: counter(
    'Steps of the forwarder, by outcome: sent, archived (test events, refused ones), refused (foreign partner), failed (tried again).',
    ['outcome'],
  ),
  quarantined_total: counter('Deliveries that were refused and kept, by reason.', ['code']),
  quarantine_depth: gauge('Deliveries and files that wait in quarantine for a person, by kind.', ['kind']),
  webhook_connections_ended_total: counter(
    'Connections without valid credentials that were refused, or closed for a new one (displaced).',
    ['reason'],
  ),
  webhook_certificate_expiry_timestamp_seconds: gauge('When the certificate of the endpoint ends.'),
  // The billing service
  service_calls_total: counter(
    'Calls of the billing service and its storage, by endpoint (token, ping, regenerate, details, export-csv, storage) and answer: the HTTP status, or why there was none.',
    ['endpoint', 'answer'],
  ),
  service_call_seconds: histogram(
    'From a call of the billing service to its answer; for files and details to the head of the answer.',
    SECONDS,
    ['endpoint'],
  ),
  downloaded_bytes_total: counter('Bytes of the files that were downloaded and proved.'),
  token_obtained_timestamp_seconds: gauge('When the present access token was had.'),
  token_expiry_timestamp_seconds: gauge('When the present access token ends.'),
  // Loading and publishing
  invoices: gauge('Invoices by state, as they are published.', ['state']),
  shipments: gauge('Shipments that count, as they are published.'),
  loads_total: counter(
    'Files that were given to the warehouse, by outcome: loaded, already_loaded, voided, rejected, contradicted, failed (tried again).',
    ['outcome'],
  ),
  load_seconds: histogram('From the request to load a file to its commit.', SECONDS),
  load_batch_files: histogram(
    'Files that one transaction made count: small ones that wait together are loaded together.',
    [1, 2, 5, 10, 20, 50, 100, 200],
  ),
  loaded_rows_total: counter('Rows of the files that were loaded.'),
  last_load_timestamp_seconds: gauge('When a file was loaded last, since this process began.'),
  publication_seconds: histogram('What a publication took, writers paused or not.', SECONDS),
  publication_sequence: gauge('Sequence of the copy that readers see.'),
  publication_timestamp_seconds: gauge('When the copy that readers see was made.'),
  publication_pending_seconds: gauge(
    'How long the oldest change that readers do not see yet has waited; 0: they see all.',
  ),
  publication_failures_total: counter('Publications that failed and are tried again.'),
  expected_invoices_missing: gauge('Invoices that should have come, by kind of gap.', ['kind']),
  // The process and its machine
  alerts_open: gauge('Alerts that are not over, by name and severity; the runbook has a page for each.', [
    'alert',
    'severity',
  ]),
  alerts_total: counter('Alerts that were said, by state.', ['state']),
  component_up: gauge('1: the component is well, 0: it is not; as on the page /health.', ['component']),
  disk_free_bytes: gauge('Free space on the disk of the data folder.'),
  disk_size_bytes: gauge('Size of the disk of the data folder.'),
  process_restarts_total: counter('Processes of up started again.', ['process']),
  build_info: gauge('1, with the version that runs.', ['version']),
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number];
export type NameOf<Kind extends MetricDefinition['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

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
