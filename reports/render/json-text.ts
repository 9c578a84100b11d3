/** Writes a result's rows as JSON: a bare array, or one object a line. Keys keep the report's order; decimals are strings. */

import type { ReportResult } from '../report-result.ts';

export function renderJson(result: ReportResult): string {
  if (result.rows.length === 0) return '[]\n';
  return `[\n${rowsOf(result)
    .map((line) => `  ${line}`)
    .join(',\n')}\n]\n`;
}

export function renderNdjson(result: ReportResult): string {
  return rowsOf(result)
    .map((line) => `${line}\n`)
    .join('');
}

function rowsOf(result: ReportResult): string[] {
  const names = result.columns.map((column) => column.name);
  return result.rows.map((row) =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, row[name] ?? null]))),
  );
}
