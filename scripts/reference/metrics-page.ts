/** docs/reference/metrics.md, from the calls in the code that make a metric. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { code, page, table } from './markdown.js';

const root = join(import.meta.dirname, '..', '..');
const CALL =
  /(?:\b|\.)(counter|gauge|histogram)(?:<[^>]*>)?\(\s*'([a-z_]+)',\s*(['"`])((?:\\.|(?!\3).)*)\3(?:,\s*(?:\{\s*labels:\s*)?\[([^\]]*)\])?/g;

interface MetricEntry {
  readonly name: string;
  readonly kind: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export function metricsPage(): string {
  const rows = metricsInCode().map(({ name, kind, help, labels }) => [
    code(`billsync_${name}`),
    kind,
    labels.map(code).join(', '),
    help,
  ]);
  return page(
    'Metrics',
    '`GET /metrics` of the admin port (`http://127.0.0.1:9090/metrics` unless set) answers in the text format of ' +
      'Prometheus. Every metric has the label `role`. Under `up`, the endpoint’s metrics are on the worker’s port too. ' +
      'Beside these are the metrics of Node.js (`nodejs_…`, `process_…`).',
    table(['Metric', 'Kind', 'Labels', 'Meaning'], rows),
  );
}

/** Every metric that code of ours makes, by name. */
function metricsInCode(): readonly MetricEntry[] {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && !/^(test|bench|sandbox|conformance|scripts)\//.test(file));
  const found = new Map<string, MetricEntry>();
  for (const file of files) {
    for (const [, kind = '', name = '', , help = '', labels = ''] of readFileSync(
      join(root, file),
      'utf8',
    ).matchAll(CALL)) {
      const words = [...labels.matchAll(/'([a-z_]+)'/g)].map(([, label]) => label ?? '');
      found.set(name, { name, kind, help: help.replaceAll('\\', ''), labels: words });
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
