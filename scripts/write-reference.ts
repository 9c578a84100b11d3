/** Writes what is made from the code: docs/reference and the dashboard; a test fails while they are not what this would write. */

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { grafanaDashboard } from './reference/grafana-dashboard.js';
import { referencePages } from './reference/pages.js';

const root = join(import.meta.dirname, '..');
const pages = Object.entries(await referencePages()).map(
  ([name, text]) => [`docs/reference/${name}`, text] as const,
);
for (const [path, text] of [...pages, ['deploy/grafana/billsync.json', grafanaDashboard()] as const]) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
