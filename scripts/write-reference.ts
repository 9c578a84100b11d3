import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dbtSources } from './reference/dbt-sources.ts';
import { grafanaDashboard } from './reference/grafana-dashboard.ts';
import { referencePages } from './reference/pages.ts';

const root = join(import.meta.dirname, '..');
const pages = Object.entries(await referencePages()).map(
  ([name, text]) => [`docs/reference/${name}`, text] as const,
);
const others = [
  ['deploy/grafana/billsync.json', grafanaDashboard()],
  ['docs/examples/dbt/models/sources.yml', await dbtSources()],
] as const;
for (const [path, text] of [...pages, ...others]) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
