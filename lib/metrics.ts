/** Labels have few values; none is an invoice, an event or a URL. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
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

export const METRICS = {
  deliveries_total: counter(
    'Deliveries by their answer: accepted, duplicate, ignored, quarantined, rejected, unauthorized, unavailable.',
    ['status'],
  ),
  acknowledge_seconds: histogram(
    'Time from the first byte of a delivery to its answer.',
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15],
  ),
  inbox_backlog: gauge('Deliveries on disk that are not yet archived and sent to Temporal.'),
  inbox_backlog_age_seconds: gauge('Age of the oldest delivery in the backlog.'),
  forwarded_total: counter(
    'Steps of the forwarder, by outcome: sent, archived (test events, refused ones), refused (foreign partner), failed (tried again).',
    ['outcome'],
  ),
  quarantined_total: counter('Deliveries that were refused and kept in quarantine, by reason.', ['code']),
  quarantine_depth: gauge('Deliveries and files in quarantine, by kind.', ['kind']),
  webhook_connections_ended_total: counter(
    'Connections without valid credentials that were refused, or closed for a new one (displaced).',
    ['reason'],
  ),
  webhook_certificate_expiry_timestamp_seconds: gauge('When the certificate of the endpoint expires.'),
  service_calls_total: counter(
    'Calls of the billing service and its storage, by endpoint (token, ping, regenerate, details, export-csv, storage) and answer: the HTTP status, or the reason for none.',
    ['endpoint', 'answer'],
  ),
  service_call_seconds: histogram(
    'Time from a call of the billing service to its answer; for files and details to the head of the answer.',
    SECONDS,
    ['endpoint'],
  ),
  downloaded_bytes_total: counter('Bytes of files that were downloaded and verified.'),
  token_obtained_timestamp_seconds: gauge('When the current access token was obtained.'),
  token_expiry_timestamp_seconds: gauge('When the current access token expires.'),
  invoices: gauge('Published invoices, by state.', ['state']),
  shipments: gauge('Published shipments that count in totals.'),
  loads_total: counter(
    'Files that were sent to the warehouse, by outcome: loaded, already_loaded, voided, rejected, contradicted, failed (tried again).',
    ['outcome'],
  ),
  load_seconds: histogram('Time from the request to load a file to its commit.', SECONDS),
  load_batch_files: histogram(
    'Files per load transaction: small files that wait together are loaded together.',
    [1, 2, 5, 10, 20, 50, 100, 200],
  ),
  loaded_rows_total: counter('Rows of loaded files.'),
  last_load_timestamp_seconds: gauge('When this process loaded a file last.'),
  publication_seconds: histogram('Duration of a publication.', SECONDS),
  publication_sequence: gauge('Sequence number of the published file.'),
  publication_timestamp_seconds: gauge('When the published file was made.'),
  publication_pending_seconds: gauge(
    'Age of the oldest change that is not published yet; 0: all are published.',
  ),
  publication_failures_total: counter('Failed publications, which are retried.'),
  expected_invoices_missing: gauge('Expected invoices that are missing, by kind of gap.', ['kind']),
  alerts_open: gauge('Open alerts, by name and severity; the runbook has a page for each.', [
    'alert',
    'severity',
  ]),
  alerts_total: counter('Notices of alerts, by state.', ['state']),
  component_up: gauge('1: the component is healthy, 0: it is not; as on the page /health.', ['component']),
  disk_free_bytes: gauge('Free space on the disk of the data folder.'),
  disk_size_bytes: gauge('Size of the disk of the data folder.'),
  process_restarts_total: counter('Restarts of processes of `up`.', ['process']),
  build_info: gauge('1, with the version as label.', ['version']),
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number];
export type NameOf<Kind extends MetricDefinition['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

export interface Metrics {
  readonly registry: Registry;
  counter<Name extends NameOf<'counter'>>(name: Name): Counter<LabelOf<Name>>;
  gauge<Name extends NameOf<'gauge'>>(name: Name): Gauge<LabelOf<Name>>;
  histogram<Name extends NameOf<'histogram'>>(name: Name): Histogram<LabelOf<Name>>;
  beforeRead(measure: () => Promise<void> | void, everyMs?: number): void;
  /** The text of other processes, which is shown with the own. */
  setNeighbours(text: string): void;
  ownText(): Promise<string>;
  text(): Promise<string>;
}

const PREFIX = 'billsync_';
/** Measuring the event loop at prom-client's default of 10 ms took a quarter of the processor time of an idle process. */
const LAG_EVERY_MS = 50;
type AnyMetric = Counter<string> | Gauge<string> | Histogram<string>;

export function createMetrics(role: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS });
  let neighbours = '';
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
      // A gauge has no value until it is measured, since a time of 0 would look like an age of decades.
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
    setNeighbours(text) {
      neighbours = text;
    },
    ownText,
    text: async () => joinSamples(`${await ownText()}\n${neighbours}`),
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

/** Prometheus requires one description per metric, followed by all its lines. */
function joinSamples(text: string): string {
  const metrics = new Map<string, string>();
  for (const metric of text.split(/^(?=# HELP )/m)) {
    const name = /^# HELP (\S+)/.exec(metric)?.[1] ?? '';
    const before = metrics.get(name);
    const lines = `${metric.trim()}\n`;
    metrics.set(name, before === undefined ? lines : before + lines.replace(/^#.*\n/gm, ''));
  }
  return [...metrics.values()].join('\n');
}
