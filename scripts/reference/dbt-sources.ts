/** Generates docs/examples/dbt/models/sources.yml, which declares the views of `reports.duckdb` as sources of dbt. */

import { stringify } from 'yaml';
import { CSV_COLUMNS } from '../../lib/wire/csv-file.ts';
import { EVENT_TYPES, FILE_SOURCES, INVOICE_STATES } from '../../lib/wire/names.ts';
import { columnMeaning, withoutMarks } from '../../warehouse/duckdb/schema.ts';
import { views as viewsOfFile } from '../../warehouse/duckdb/sql.ts';
import { readColumns, VIEWS } from './pages.ts';

const ofAnInvoice = {
  relationships: { arguments: { to: "source('billsync', 'invoices')", field: 'invoice_id' } },
};
const oneOf = (values: readonly string[]) => ({ accepted_values: { arguments: { values } } });

const TESTS: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(
    CSV_COLUMNS.filter(({ isRequired }) => isRequired).map(({ name }) => [`shipments.${name}`, ['not_null']]),
  ),
  'shipments.invoice_id': ['not_null', ofAnInvoice],
  'shipments.invoice_level': ['not_null', oneOf(['tenant', 'partner', 'unknown'])],
  'shipments.billable_weight_unit': [oneOf(['LB', 'KG'])],
  'invoices.invoice_id': ['not_null', 'unique'],
  'invoices.state': ['not_null', oneOf(INVOICE_STATES)],
  'invoices.proof': [oneOf(['hash', 'announced', 'header', 'accepted', 'unproved'])],
  'invoices.file_source': [oneOf(FILE_SOURCES)],
  'invoice_amounts.invoice_id': ['not_null', ofAnInvoice],
  'invoice_amounts.billing_cost': ['not_null'],
  'events.event_type': [oneOf(EVENT_TYPES)],
  'publication.sequence': ['not_null', 'unique'],
};

/** How old a publication may be before `dbt source freshness` warns; the newest invoice may be older. */
const FRESHNESS = {
  loaded_at_field: 'published_at',
  config: { freshness: { warn_after: { count: 1, period: 'day' } } },
};

export async function dbtSources(): Promise<string> {
  const columns = await readColumns();
  const known = new Set(columns.map(({ view, name }) => `${view}.${name}`));
  const stray = Object.keys(TESTS).filter((name) => !known.has(name));
  if (stray.length > 0)
    throw new Error(`scripts/reference/dbt-sources.ts tests ${stray.join(', ')}, which no view has.`);
  const { heads } = viewsOfFile();
  const tables = VIEWS.map((view) => ({
    name: view,
    description: withoutMarks(heads.get(view) ?? ''),
    ...(view === 'publication' ? FRESHNESS : {}),
    columns: columns
      .filter((column) => column.view === view)
      .map(({ name, type }) => ({
        name,
        description: withoutMarks(columnMeaning(view, name) ?? ''),
        data_type: type,
        ...(TESTS[`${view}.${name}`] === undefined ? {} : { data_tests: TESTS[`${view}.${name}`] }),
      })),
  }));
  const description =
    'The published file of billsync, reports.duckdb, attached under this name and only read.';
  const sources = [{ name: 'billsync', description, database: 'billsync', schema: 'main', tables }];
  return `# Made by \`npm run reference\`; edit the code instead.\n${stringify({ sources }, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}
