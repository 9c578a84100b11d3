/** What `billsync report NAME --help` says of one report: what its numbers mean, its parameters, a worked example. */

import { Help } from 'commander';
import { findReportNow } from '../../../reports/catalogue.ts';
import { exampleTables } from '../../../reports/worked-example.ts';

const WIDTH = 100;

/** Empty when `name` is no report: the command's own help follows anyway. */
export function helpOfReport(name: string | undefined): string {
  const report = name === undefined ? null : findReportNow(name);
  if (report === null) return '';
  const parameters = report.parameters.map((parameter) => {
    const kind = `${parameter.choices?.join('|') ?? parameter.type}${parameter.takesSeveral ? ', joined by +' : ''}`;
    const usual = parameter.default === null ? '' : `, ${parameter.default} by default`;
    return `--param ${parameter.name}=… (${kind}${usual}): ${parameter.about}`;
  });
  const files = report.sources.map(
    (table) => `--${table} FILE, or report-files/${table}.csv in the data folder`,
  );
  const words = [
    `${report.name}: ${report.title}`,
    `One row per ${report.grain}.`,
    `What the numbers mean: ${report.means}`,
    `Rows are in order of: ${report.order}.`,
    `What they cannot say: ${report.cannotSay}`,
    ...parameters,
    ...files,
    ...(report.example === null ? [] : [`A worked example: ${report.example.text}`]),
  ];
  const tables = report.example === null ? [] : exampleTables(report.example).map(textOf);
  return [...words.map((part) => new Help().boxWrap(part, WIDTH)), ...tables, ''].join('\n\n');
}

function textOf(table: {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}): string {
  const lines = [table.columns, ...table.rows];
  const widths = table.columns.map((_, index) =>
    Math.max(...lines.map((line) => (line[index] ?? '').length)),
  );
  const text = lines.map((line) =>
    line
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [`${table.caption}:`, ...text.map((line) => `  ${line}`)].join('\n');
}
