import {
  type DuckDBConnection,
  type DuckDBResultReader,
  DuckDBTypeId,
  StatementType,
} from '@duckdb/node-api';
import { jsonValue } from '../lib/duckdb-values.ts';
import { asDamage } from '../lib/files/damaged-database.ts';
import { isReportError, type ReportError, sqlRefused } from './errors.ts';
import { openPublishedFile, withTimeLimit } from './open-published-file.ts';

export interface SqlRequest {
  readonly databasePath: string;
  readonly sql: string;
  readonly timeLimitMs: number;
}

export interface SqlResult {
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
  /**
   * Decimals are exact text, whole numbers numbers (text beyond 2^53), instants ISO 8601 UTC; the rest as
   * JSON.
   */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** @throws ReportError DuckDB refuses the statement */
export async function runSql({ databasePath, sql, timeLimitMs }: SqlRequest): Promise<SqlResult> {
  const file = await openPublishedFile(databasePath);
  try {
    const limit = { file, name: 'of this statement', timeLimitMs, deadline: Date.now() + timeLimitMs };
    await file.connection.run("set search_path = 'main'");
    return await withTimeLimit(limit, async () => {
      try {
        return answerOf(await runReadOnly(file.connection, sql));
      } catch (error) {
        if (isReportError(error, 'sql-refused')) throw error;
        if (/^(INTERRUPT|IO) Error/.test(error instanceof Error ? error.message : ''))
          throw asDamage(error, databasePath);
        throw sqlRefused(error);
      }
    });
  } finally {
    file.close();
  }
}

const WHOLE_NUMBERS: readonly DuckDBTypeId[] = [
  ...[DuckDBTypeId.TINYINT, DuckDBTypeId.SMALLINT, DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT],
  ...[DuckDBTypeId.UTINYINT, DuckDBTypeId.USMALLINT, DuckDBTypeId.UINTEGER, DuckDBTypeId.UBIGINT],
  DuckDBTypeId.HUGEINT,
];
const FRACTIONS: readonly DuckDBTypeId[] = [DuckDBTypeId.DECIMAL, DuckDBTypeId.DOUBLE, DuckDBTypeId.FLOAT];

function answerOf(reader: DuckDBResultReader): SqlResult {
  const types = reader.columnTypes().map(({ typeId }) => typeId);
  const names = reader.deduplicatedColumnNames();
  return {
    columns: names.map((name, index) => ({ name, isNumber: isNumber(types[index]) })),
    rows: reader
      .convertRows(jsonValue)
      .map((cells) =>
        Object.fromEntries(names.map((name, index) => [name, jsonOf(cells[index], types[index])])),
      ),
  };
}

function isNumber(type: DuckDBTypeId | undefined): boolean {
  return type !== undefined && (WHOLE_NUMBERS.includes(type) || FRACTIONS.includes(type));
}

function jsonOf(value: unknown, type: DuckDBTypeId | undefined): unknown {
  if (typeof value !== 'string' || type === undefined) return value ?? null;
  if (WHOLE_NUMBERS.includes(type)) return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  return value;
}

/** Functions that read only their arguments and the session's catalog; all others are refused. */
const TABLE_FUNCTIONS: readonly string[] = [
  ...['range', 'generate_series', 'unnest', 'repeat', 'repeat_row', 'json_each', 'json_tree'],
  ...['duckdb_columns', 'duckdb_constraints', 'duckdb_functions', 'duckdb_keywords', 'duckdb_schemas'],
  ...['duckdb_settings', 'duckdb_tables', 'duckdb_types', 'duckdb_variables', 'duckdb_views'],
  ...['pragma_show', 'pragma_table_info', 'pragma_version', 'pg_timezone_names', 'icu_calendar_names'],
];
const READS = 'select, describe, summarize, show, pivot, unpivot, and explain of these';
/** DuckDB reads a file for a table of such a name; catalog, schema and table together are its path. */
const IS_FILE = /[./\\:*]/;
const NAMES_FILE =
  /\.\s*"?(?:csv|tsv|txt|parquet|json|jsonl|ndjson|geojson|duckdb|db|xlsx|arrows?|gz|zst)\b/i;
const QUOTED_NAME = /"((?:[^"]|"")*)"/g;
const LEADING_COMMENTS = /^(?:\s|--[^\r\n]*[\r\n])*/;
const OPTION = String.raw`(?:analyze|format\s+\w+)`;
const EXPLAIN = new RegExp(
  String.raw`^(?:\s|--[^\r\n]*[\r\n])*explain\s+(?:analyze\s+|\(\s*${OPTION}(?:\s*,\s*${OPTION})*\s*\)\s*)?`,
  'i',
);
/** DuckDB may prepend a `create type` with the columns of a pivot. */
const MAY_PIVOT =
  /^(?:\s|\(|--[^\r\n]*[\r\n])*(?:pivot|pivot_wider|with|select|from|describe|desc|summarize)\b/i;

/**
 * Checked before DuckDB binds it, since binding a table function opens its file; a read-only instance still
 * lets `copy` write files. DuckDB splits a pivot without `in (…)` into several statements. @throws
 * ReportError not one statement, writes, reaches outside the file, or a syntax error
 */
export async function runReadOnly(connection: DuckDBConnection, sql: string): Promise<DuckDBResultReader> {
  const body = sql.replace(EXPLAIN, '');
  const isExplain = body !== sql;
  const functions = await tableFunctionsOf(connection);
  const tree = await treeOf(connection, body);
  if (tree === null) checkPivot(body, functions);
  else await checkTables(connection, checkTree(tree, functions));
  const statements = await connection.extractStatements(sql);
  if (tree !== null && statements.count !== 1) throw refused('more than one statement');
  let answer: DuckDBResultReader | null = null;
  for (let index = 0; index < statements.count; index += 1) {
    const statement = await statements.prepare(index);
    const { statementType: type } = statement;
    if (type === (isExplain ? StatementType.EXPLAIN : StatementType.SELECT) && answer === null) {
      answer = await statement.runAndReadAll();
    } else if (
      (type === StatementType.CREATE && answer === null && tree === null) ||
      (type === StatementType.TRANSACTION && isExplain && tree === null)
    ) {
      await statement.run();
    } else throw refused(answer === null ? 'one that does not only read' : 'more than one statement');
  }
  if (answer === null) throw refused('no statement');
  return answer;
}

interface Functions {
  readonly allowed: ReadonlySet<string>;
  readonly others: readonly string[];
}

async function tableFunctionsOf(connection: DuckDBConnection): Promise<Functions> {
  const reader = await connection.runAndReadAll(
    "select lower(function_name), bool_or(function_type = 'table_macro' and not internal) from duckdb_functions() where function_type in ('table', 'table_macro', 'pragma') group by 1",
  );
  const rows = reader.getRows().map(([name, isOurs]) => ({ name: String(name), isOurs: isOurs === true }));
  const ours = rows.filter(({ isOurs }) => isOurs).map(({ name }) => name);
  const allowed = new Set([...TABLE_FUNCTIONS, ...ours]);
  return { allowed, others: rows.map(({ name }) => name).filter((name) => !allowed.has(name)) };
}

/** The parsed statement; null for no select, or a pivot without `in (…)`. */
async function treeOf(connection: DuckDBConnection, sql: string): Promise<unknown> {
  const reader = await connection.runAndReadAll('select json_serialize_sql($1::varchar)', [sql]);
  const tree = JSON.parse(String(reader.getRows()[0]?.[0])) as {
    readonly error: boolean;
    readonly error_type?: string;
    readonly error_message?: string;
    readonly statements?: readonly unknown[];
  };
  if (!tree.error) {
    if (tree.statements?.length !== 1) throw refused('more than one statement, or none');
    return tree.statements;
  }
  if (tree.error_type === 'not implemented') return null;
  throw sqlRefused(`Parser Error: ${tree.error_message}`);
}

/** Catalog, schema and name of a table, as far as they are stated. */
type TableName = readonly string[];

/** @returns names of tables that a file could have too */
function checkTree(tree: unknown, functions: Functions): readonly TableName[] {
  if (tree === null || typeof tree !== 'object') return [];
  const node = tree as Readonly<Record<string, unknown>>;
  const { type, function: called } = node;
  const tables: TableName[] = [];
  if (type === 'BASE_TABLE') {
    const name = ['catalog_name', 'schema_name', 'table_name']
      .map((key) => String(node[key] ?? ''))
      .filter(Boolean);
    if (IS_FILE.test(name.join('.'))) tables.push(name);
  }
  if (type === 'TABLE_FUNCTION') {
    const name = String((called as { readonly function_name?: unknown } | undefined)?.function_name);
    if (!functions.allowed.has(name.toLowerCase())) throw refused(`the table function ${name}`);
  }
  return [...tables, ...Object.values(tree).flatMap((part) => checkTree(part, functions))];
}

/** A name that is in no catalog is one of a file, whatever a `with` calls so. */
async function checkTables(connection: DuckDBConnection, tables: readonly TableName[]): Promise<void> {
  if (tables.length === 0) return;
  const reader = await connection.runAndReadAll(
    'select lower(database_name), lower(schema_name), lower(table_name) from duckdb_tables() union all select lower(database_name), lower(schema_name), lower(view_name) from duckdb_views()',
  );
  const known = new Set(
    reader
      .getRows()
      .flatMap(([database, schema, name]) => [
        ...[[name], [schema, name], [database, name]].map((parts) => JSON.stringify(parts)),
        JSON.stringify([database, schema, name]),
      ]),
  );
  const file = tables.find((name) => !known.has(JSON.stringify(name.map((part) => part.toLowerCase()))));
  if (file !== undefined) throw refused(`${file.join('.')}, which is no table of the published file`);
}

/** Without a tree, the text may not contain refused names, nor what could hide one. DuckDB splits it into several statements. */
function checkPivot(statement: string, { others }: Functions): void {
  const sql = statement.replace(LEADING_COMMENTS, '').replace(/;\s*$/, '');
  if (!MAY_PIVOT.test(sql)) throw refused('one that does not only read');
  if (/;|--|\/\*/.test(sql)) throw refused('a comment or a semicolon in a pivot without `in (…)`');
  const [, quoted] = [...sql.matchAll(QUOTED_NAME)].find(([, name = '']) => IS_FILE.test(name)) ?? [];
  if (quoted !== undefined) throw refused(`the name ${quoted} in a pivot without \`in (…)\``);
  const tokens = new Set(sql.toLowerCase().match(/\w+/g));
  const named = others.find((name) => tokens.has(name));
  if (named !== undefined) throw refused(`the name ${named} in a pivot without \`in (…)\``);
  if (NAMES_FILE.test(sql)) throw refused('the name of a file in a pivot without `in (…)`');
}

function refused(what: string): ReportError {
  return sqlRefused(
    `billsync sql takes one statement that reads the published file: ${READS}. It has ${what}.`,
  );
}
