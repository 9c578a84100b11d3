/** docs/reference/reports.md, from the header of each report's SQL file. */

import { listReports, PURPOSES, type ReportDefinition } from '../../reports/catalogue.ts';
import { code, page, table } from './markdown.ts';

export function reportsPage(): string {
  const reports = listReports();
  return page(
    'Reports',
    `\`billsync report NAME\` runs a report on the published file. What all of them share (lines, packages, ` +
      `pounds, rounding, periods) is in [report-rules.md](../report-rules.md); \`billsync report NAME --help\` adds a worked ` +
      `example. Filters are the same for all: \`--from\`, \`--to\`, \`--period\`, \`--by\`, \`--tenant\`, \`--carrier\`, \`--zone\`, ` +
      `\`--currency\`, \`--level\`, \`--as-known-on\`.`,
    ...Object.entries(PURPOSES).map(([purpose, about]) => {
      const rows = reports
        .filter((report) => report.purpose === purpose)
        .map(({ name, title }) => [`[\`${name}\`](#${name})`, title]);
      return `**${purpose}**: ${about}\n\n${table(['Report', 'Title'], rows)}`;
    }),
    ...reports.map((report) => sectionOf(report)),
  );
}

function sectionOf(report: ReportDefinition): string {
  const { name, title, grain, means, order, limits, parameters, units, sources } = report;
  const facts = [
    `**One row per** ${grain}.`,
    means,
    `**Rows are in order of:** ${order}.`,
    `**Limits:** ${limits}`,
    ...(sources.length === 0
      ? []
      : [
          `**Reads** ${sources.map((source) => code(`--${source} FILE`)).join(', ')} ` +
            '([your own files](../report-rules.md#your-own-files)).',
        ]),
    ...(Object.keys(units).length === 0
      ? []
      : [
          `**Units:** ${Object.entries(units)
            .filter(([, unit]) => unit !== '-')
            .map(([column, unit]) => `${code(column)} ${unit}`)
            .join(', ')}`,
        ]),
  ];
  const rows = parameters.map((parameter) => [
    code(`--param ${parameter.name}=…`),
    (parameter.choices?.map(code).join(', ') ?? parameter.type) +
      (parameter.takesSeveral ? ', joined by +' : ''),
    parameter.default === null ? '' : code(parameter.default),
    parameter.about.charAt(0).toUpperCase() + parameter.about.slice(1),
  ]);
  const table_ = rows.length === 0 ? [] : [table(['Parameter', 'Type', 'Default', 'Meaning'], rows)];
  return [`## ${name}`, `_${title}_`, ...facts.map(escaped), ...table_].join('\n\n');
}

/** Text of a header is no Markdown. */
function escaped(text: string): string {
  return text.replace(/(?<![`\\])([<>])/g, '\\$1');
}
