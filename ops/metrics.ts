/** What a role counts, in the shape that Prometheus reads at `/metrics`. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** `status`: accepted, duplicate, ignored, quarantined, rejected, unauthorized, unavailable. */
  readonly deliveries: Counter<'status'>;
  readonly acknowledgeSeconds: Histogram;
  readonly backlog: Gauge;
  readonly backlogAgeSeconds: Gauge;
  /** `outcome`: sent, archived (test events, refused ones), refused (foreign partner), failed (tried again). */
  readonly forwarded: Counter<'outcome'>;
  readonly quarantined: Counter<'code'>;
  /** A metric of another part; made once per name, so a part may ask again. `name` without the prefix. */
  counter<Label extends string = never>(
    name: string,
    help: string,
    labels?: readonly Label[],
  ): Counter<Label>;
  gauge<Label extends string = never>(name: string, help: string, labels?: readonly Label[]): Gauge<Label>;
  histogram<Label extends string = never>(
    name: string,
    help: string,
    options?: { readonly labels?: readonly Label[]; readonly buckets?: readonly number[] },
  ): Histogram<Label>;
  /** What another process of the same `up` counts, as its `ownText`; replaces what it said before. */
  setNeighbour(name: string, text: string): void;
  /** What this process counts. */
  ownText(): Promise<string>;
  /** The text of `/metrics`: what this process and its neighbours count. */
  text(): Promise<string>;
}

const PREFIX = 'billsync_';

/** @param role stands as a label on every metric */
export function createMetrics(role: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry });
  const neighbours = new Map<string, string>();
  const made = new Map<string, Counter<string> | Gauge<string> | Histogram<string>>();

  function once<Metric extends Counter<string> | Gauge<string> | Histogram<string>>(
    name: string,
    make: (name: string) => Metric,
  ): Metric {
    const full = PREFIX + name;
    const metric = made.get(full) ?? make(full);
    made.set(full, metric);
    return metric as Metric;
  }

  const counter = <Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
  ): Counter<Label> =>
    once(name, (full) => new Counter({ name: full, help, labelNames: [...labels], registers: [registry] }));
  const gauge = <Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
  ): Gauge<Label> =>
    once(name, (full) => new Gauge({ name: full, help, labelNames: [...labels], registers: [registry] }));
  const histogram = <Label extends string = never>(
    name: string,
    help: string,
    {
      labels = [],
      buckets,
    }: { readonly labels?: readonly Label[]; readonly buckets?: readonly number[] } = {},
  ): Histogram<Label> =>
    once(
      name,
      (full) =>
        new Histogram({
          name: full,
          help,
          labelNames: [...labels],
          registers: [registry],
          ...(buckets === undefined ? {} : { buckets: [...buckets] }),
        }),
    );

  return {
    registry,
    deliveries: counter('deliveries_total', 'Deliveries answered, by what was answered.', ['status']),
    acknowledgeSeconds: histogram('acknowledge_seconds', 'From the first byte of a delivery to its answer.', {
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15],
    }),
    backlog: gauge('inbox_backlog', 'Deliveries on disk that were not yet archived and given to Temporal.'),
    backlogAgeSeconds: gauge('inbox_backlog_age_seconds', 'Age of the oldest delivery of the backlog.'),
    forwarded: counter('forwarded_total', 'Steps of the forwarder, by outcome.', ['outcome']),
    quarantined: counter('quarantined_total', 'Deliveries that were refused and kept, by reason.', ['code']),
    counter,
    gauge,
    histogram,
    setNeighbour: (name, text) => void neighbours.set(name, text),
    ownText: () => registry.metrics(),
    text: async () => joined([await registry.metrics(), ...neighbours.values()]),
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
