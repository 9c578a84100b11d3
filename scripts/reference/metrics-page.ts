/** docs/reference/metrics.md, from the table of metrics. */

import { METRICS } from '../../lib/metrics.ts';
import { code, page, table } from './markdown.ts';

export function metricsPage(): string {
  const rows = Object.entries(METRICS)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { kind, help, labels }]) => [
      code(`billsync_${name}`),
      kind,
      [...labels].map(code).join(', '),
      help,
    ]);
  return page(
    'Metrics',
    '`GET /metrics` of the admin port (`http://127.0.0.1:9090/metrics` unless set) answers in the text format of ' +
      'Prometheus. Every metric has the label `role`. Under `up`, the endpoint’s metrics are on the worker’s port too. ' +
      'Beside these are the metrics of Node.js (`nodejs_…`, `process_…`) and, of a worker, those of Temporal’s SDK (`temporal_…`); ' +
      'the lag of the event loop is looked at every 50 ms, and reads so when there is none. ' +
      'An age is exported as the time of its start: `time() - billsync_publication_timestamp_seconds`. ' +
      'Rules for alerts and a dashboard lie in `deploy/prometheus` and `deploy/grafana`.',
    table(['Metric', 'Kind', 'Labels', 'Meaning'], rows),
  );
}
