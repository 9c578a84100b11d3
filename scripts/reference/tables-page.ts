/** docs/reference/tables.md: the views of `reports.duckdb`, with types as DuckDB has them and a meaning for each column. */

import { columnMeaning } from '../../warehouse/duckdb/schema.ts';
import { views as viewsOfFile } from '../../warehouse/duckdb/sql.ts';
import { code, page, table } from './markdown.ts';
import { readColumns, VIEWS } from './view-columns.ts';

/** @throws Error a column has no meaning, or a new view is not listed */
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
