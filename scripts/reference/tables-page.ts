/** docs/reference/tables.md: the views of `reports.duckdb`, with types as DuckDB has them and a meaning for each column. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Database } from '../../warehouse/duckdb/database.js';
import { migrate } from '../../warehouse/duckdb/migrate.js';
import { views as viewsOfFile } from '../../warehouse/duckdb/sql.js';
import { columnMeaning } from '../../warehouse/duckdb/view-comments.js';
import { code, page, table } from './markdown.js';

/** In the order in which a reader needs them. */
const VIEWS = [
  ...['shipments', 'tenant_shipments', 'invoices', 'invoice_amounts', 'tenants', 'partners', 'carriers'],
  ...['events', 'files', 'discrepancies', 'publication', 'shipment_versions', 'level_cross_check'],
];

interface Column {
  readonly view: string;
  readonly name: string;
  readonly type: string;
}

/** @throws Error a column has no meaning, or a view is new and stands nowhere */
export async function tablesPage(): Promise<string> {
  const columns = await readColumns();
  const views = new Set(columns.map(({ view }) => view));
  const unlisted = [...views].filter((view) => !VIEWS.includes(view));
  const bare = columns.filter(({ view, name }) => columnMeaning(view, name) === undefined);
  if (unlisted.length > 0)
    throw new Error(`scripts/reference/tables-page.ts does not list ${unlisted.join(', ')}.`);
  if (bare.length > 0) {
    const names = bare.map(({ view, name }) => `${view}.${name}`).join(', ');
    throw new Error(`warehouse/duckdb/column-meanings.ts has no meaning for ${names}.`);
  }
  const sections = VIEWS.map((view) => {
    const rows = columns
      .filter((column) => column.view === view)
      .map(({ name, type }) => [code(name), type, columnMeaning(view, name) ?? '']);
    return `## ${view}\n\n${viewsOfFile().heads.get(view) ?? ''}\n\n${table(['Column', 'Type', 'Meaning'], rows)}`;
  });
  return page(
    'Tables and columns',
    'The views of `reports.duckdb` (and of what `billsync export` writes). Names and meanings are a contract: columns are ' +
      'added, never renamed or removed without a version in which both exist. How to open the file, and four rules that keep ' +
      'your totals equal to ours, are in [your-own-tools.md](../your-own-tools.md). Instants are `TIMESTAMP WITH TIME ZONE`. ' +
      'The macro `shipments_as_known_on(instant)` has the columns of `shipments`.',
    ...sections,
  );
}

async function readColumns(): Promise<readonly Column[]> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-reference-'));
  const path = join(folder, 'empty.duckdb');
  try {
    const database = await Database.open({
      path,
      folders: [folder],
      temporaryFolder: folder,
      memoryLimit: null,
    });
    await migrate(database, new Date(0));
    database.close();
    const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll(
      await readFile(new URL('./view-columns.sql', import.meta.url), 'utf8'),
    );
    connection.closeSync();
    instance.closeSync();
    return reader.getRowObjectsJson() as unknown as readonly Column[];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
