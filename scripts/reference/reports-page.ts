/** docs/reference/reports.md, from the header of each report's SQL file. */

import { listReports, type ReportDefinition } from '../../reports/catalogue.js';
import { code, page, table } from './markdown.js';

export async function reportsPage(): Promise<string> {
  const reports = await listReports();
  return page(
    'Reports',
    `\`billsync report NAME\` answers one question from the published file. What all of them share (lines, packages, ` +
      `pounds, rounding, periods) is in [report-rules.md](../report-rules.md); \`billsync report NAME --help\` adds a worked ` +
      `example. Filters are the same for all: \`--from\`, \`--to\`, \`--by\`, \`--tenant\`, \`--carrier\`, \`--zone\`, ` +
      `\`--currency\`, \`--level\`, \`--as-known-on\`.`,
    table(
      ['Report', 'Question'],
      reports.map(({ name, title }) => [`[\`${name}\`](#${name})`, title]),
    ),
    ...reports.map(sectionOf),
  );
}

function sectionOf(report: ReportDefinition): string {
  const { name, title, grain, means, cannotSay, parameters, units, sources, formerly } = report;
  const facts = [
    `**A row is** ${grain}.`,
    means,
    `**What it cannot say:** ${cannotSay}`,
    ...(formerly.length === 0 ? [] : [`**Former name:** ${formerly.map(code).join(', ')}`]),
    ...(sources.length === 0
      ? []
      : [
          `**Joins** ${sources.map((source) => code(`--${source} FILE`)).join(', ')} ` +
            '([files of yours](../report-rules.md#files-of-yours)).',
        ]),
    ...(Object.keys(units).length === 0
      ? []
      : [
          `**Units:** ${Object.entries(units)
            .map(([column, unit]) => `${code(column)} ${unit}`)
            .join(', ')}`,
        ]),
  ];
  const rows = parameters.map((parameter) => [
    code(`--param ${parameter.name}=…`),
    parameter.choices?.map(code).join(', ') ?? parameter.type,
    parameter.default === null ? '' : code(parameter.default),
    parameter.about,
  ]);
  const table_ = rows.length === 0 ? [] : [table(['Parameter', 'Type', 'Default', 'Meaning'], rows)];
  return [`## ${name}`, `_${title}_`, ...facts.map(escaped), ...table_].join('\n\n');
}

/** Text of a header is no Markdown. */
function escaped(text: string): string {
  return text.replace(/(?<![`\\])([<>])/g, '\\$1');
}
