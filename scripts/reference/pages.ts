import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Command } from 'commander';
import { EXIT } from '../../cli/errors.ts';
import { sharedOptions } from '../../cli/verb.ts';
import { VERBS } from '../../cli/verbs.ts';
import { SETTING_GROUPS } from '../../lib/config/setting-definitions.ts';
import { COMMON_LOG_FIELDS, LOG_FIELDS } from '../../lib/log/log.ts';
import { METRICS } from '../../lib/metrics.ts';
import { listReports, PURPOSES, type ReportDefinition } from '../../reports/catalogue.ts';
import { Database } from '../../warehouse/duckdb/database.ts';
import { columnMeaning, migrate } from '../../warehouse/duckdb/schema.ts';
import { views as viewsOfFile } from '../../warehouse/duckdb/sql.ts';

export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    'commands.md': await commandsPage(),
    'exit-codes.md': exitCodesPage(),
    'logs.md': logsPage(),
    'metrics.md': metricsPage(),
    'reports.md': reportsPage(),
    'settings.md': settingsPage(),
    'tables.md': await tablesPage(),
  };
}

const GENERATED = '<!-- Made by `npm run reference`; edit the code instead. -->';

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

function page(title: string, ...blocks: readonly string[]): string {
  return `${[`# ${title}`, GENERATED, ...blocks].join('\n\n')}\n`;
}

export const VIEWS = [
  ...['shipments', 'tenant_shipments', 'invoices', 'invoice_amounts', 'tenants', 'partners', 'carriers'],
  ...['events', 'files', 'discrepancies', 'publication', 'shipment_versions', 'level_cross_check'],
];

const VIEW_COLUMNS = `
  select c.table_name as view, c.column_name as name, c.data_type as type
  from duckdb_columns() as c
  join duckdb_views() as v on v.view_oid = c.table_oid and not v.internal
  where not c.internal and c.schema_name = 'main'
  order by c.table_name, c.column_index
`;

export interface ViewColumn {
  readonly view: string;
  readonly name: string;
  readonly type: string;
}

export async function readColumns(): Promise<readonly ViewColumn[]> {
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
    const reader = await connection.runAndReadAll(VIEW_COLUMNS);
    connection.closeSync();
    instance.closeSync();
    return reader.getRowObjectsJson() as unknown as readonly ViewColumn[];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const SECTIONS = [...new Set(VERBS.map(({ section }) => section))];

async function commandsPage(): Promise<string> {
  const commands = await Promise.all(VERBS.map(async (verb) => ({ ...verb, command: await verb.load() })));
  const program = new Command('billsync');
  for (const { command } of commands) program.addCommand(command);
  const overview = SECTIONS.map((section) => {
    const lines = commands
      .filter((verb) => verb.section === section)
      .map(({ name, summary }) => `- [\`${name}\`](#billsync-${name}): ${summary}`);
    return `**${section}**\n\n${lines.join('\n')}`;
  });
  const shared = new Command().helpOption(false).usage(' ');
  for (const option of sharedOptions()) shared.addOption(option);
  return page(
    'Commands',
    'Data goes to stdout, messages and progress to stderr. `--json` prints one JSON document and `--ndjson` a line for each ' +
      'item; money and weights are text with exact decimals, instants are ISO 8601 in UTC. Whatever writes takes ' +
      '`--dry-run`. [Exit codes](exit-codes.md) are the same everywhere.',
    ...overview,
    `## Options of every command\n\n${block(
      helpOf(shared)
        .replace(/^[\s\S]*Options:\n/, '')
        .trimEnd(),
    )}`,
    ...commands.flatMap(({ command, name }) => commandSections(command, `billsync ${name}`, 2)),
  );
}

function commandSections(command: Command, path: string, depth: number): string[] {
  const below = command.commands.filter((child) => child.name() !== 'help');
  return [
    `${'#'.repeat(Math.min(depth, 4))} ${path}\n\n${block(helpOf(command).trim())}`,
    ...below.flatMap((child) => commandSections(child, `${path} ${child.name()}`, depth + 1)),
  ];
}

function helpOf(command: Command): string {
  let text = '';
  const asText = {
    writeOut: (part: string) => {
      text += part;
    },
    getOutHelpWidth: () => 110,
    getOutHasColors: () => false,
  };
  command.configureOutput(asText).outputHelp();
  return text;
}

function block(text: string): string {
  return `\`\`\`text\n${text.replace(/[ \t]+$/gm, '').replace(/\n{3,}/g, '\n\n')}\n\`\`\``;
}

const MEANINGS: Readonly<Record<keyof typeof EXIT, readonly [what: string, todo: string]>> = {
  done: ['Done.', ''],
  checkFailed: [
    'A check failed: drift was found, a check of `doctor` failed, `--wait` ran out, or the disk is full.',
    'Read the message.',
  ],
  usage: ['The command line or a setting is wrong.', '`--help`, or `billsync config show`.'],
  nothingMatched: [
    'Nothing matched, or there is nothing to read yet.',
    'The message names the nearest match, or how to publish.',
  ],
  refused: ['Credentials were refused.', 'Check them with `billsync doctor`.'],
  unreachable: [
    'The service, Temporal or storage could not be reached.',
    'Try again later; `billsync doctor` shows which.',
  ],
  serviceError: [
    'The billing service answered with an error.',
    'Try again later; `--verbose` has the answer.',
  ],
  rejected: [
    'Data was rejected: a CSV broke a rule, or a file is not what was announced.',
    '`billsync quarantine list`.',
  ],
  locked: ['Another process holds the warehouse, or a port is taken.', 'The message names the process.'],
  bug: ['A bug in billsync.', 'Run it again with `--verbose` and report the output.'],
};

function exitCodesPage(): string {
  const rows = Object.entries(MEANINGS).map(([name, [what, todo]]) => [
    code(String(EXIT[name as keyof typeof EXIT])),
    what,
    todo,
  ]);
  return page(
    'Exit codes',
    'Scripts may rely on them; they never change. An error has at most three lines on stderr: the problem, the object, and ' +
      'the remedy.',
    table(['Code', 'Meaning', 'What to do'], rows),
  );
}

function logsPage(): string {
  const rows = (fields: Readonly<Record<string, string>>): string[][] =>
    Object.entries(fields).map(([name, meaning]) => [code(name), meaning]);
  return page(
    'Fields of the log',
    'A role writes one JSON object a line to stderr, unless stderr is a terminal (`LOG_FORMAT`). Secrets are removed before ' +
      'a line is written. [Logs and traces](../install-logs.md) explains how to collect them.',
    'In every line:',
    table(['Field', 'Meaning'], rows(COMMON_LOG_FIELDS)),
    'In some lines:',
    table(['Field', 'Meaning'], rows(LOG_FIELDS)),
    'Lines of Temporal’s SDK also have its own fields: `sdkComponent`, `taskQueue`, `namespace`, `workflowType`, `workflowId`, `runId`, ' +
      '`activityType`, `activityId`, `attempt` and others. A `workflowId` is `invoice/ENVIRONMENT/PARTNER/INVOICE`.',
  );
}

function metricsPage(): string {
  const rows = Object.entries(METRICS)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { kind, help, labels }]) => [
      code(`billsync_${name}`),
      kind,
      [...labels].map(code).join(', '),
      help,
    ]);
  return page(
    'Metrics',
    '`GET /metrics` of the admin port (`http://127.0.0.1:9090/metrics` unless set) answers in the text format of ' +
      'Prometheus. Every metric has the label `role`. Under `up`, the endpoint’s metrics are on the worker’s port too. ' +
      'Beside these are the metrics of Node.js (`nodejs_…`, `process_…`) and, of a worker, those of Temporal’s SDK (`temporal_…`); ' +
      'the lag of the event loop is sampled every 50 ms, so its minimum is 0.05 s. ' +
      'An age is exported as the time of its start: `time() - billsync_publication_timestamp_seconds`. ' +
      'Alert rules and a dashboard are in `deploy/prometheus` and `deploy/grafana`.',
    table(['Metric', 'Kind', 'Labels', 'Meaning'], rows),
  );
}

function reportsPage(): string {
  const reports = listReports();
  return page(
    'Reports',
    `\`billsync report NAME\` runs a report on the published file. The rules of all reports (lines, packages, ` +
      `pounds, rounding, periods) are in [report-rules.md](../report-rules.md); \`billsync report NAME --help\` adds a worked ` +
      `example. Filters are the same for all: \`--from\`, \`--to\`, \`--period\`, \`--by\`, \`--tenant\`, \`--carrier\`, \`--zone\`, ` +
      `\`--currency\`, \`--level\`, \`--as-known-on\`.`,
    ...Object.entries(PURPOSES).map(([purpose, about]) => {
      const rows = reports
        .filter((report) => report.purpose === purpose)
        .map(({ name, title }) => [`[\`${name}\`](#${name})`, title]);
      return `**${purpose}**: ${about}\n\n${table(['Report', 'Title'], rows)}`;
    }),
    ...reports.map((report) => reportSection(report)),
  );
}

function reportSection(report: ReportDefinition): string {
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
            .map(([column, unit]) => `${code(column)} ${unit.replace('$', 'the parameter ')}`)
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

function escaped(text: string): string {
  return text.replace(/(?<![`\\])([<>])/g, '\\$1');
}

function settingsPage(): string {
  const groups = SETTING_GROUPS.map(({ title, definitions }) => {
    const rows = definitions.map(({ variable, fileKey, default: text, defaultNote, meaning, secret }) => [
      code(variable),
      code(fileKey),
      defaultNote ?? (text === null ? '' : code(text)),
      secret ? `${meaning}. Secret: also as ${code(`${variable}_FILE`)}` : meaning,
    ]);
    return `## ${title}\n\n${table(['Variable', 'Key in the file', 'Default', 'Meaning'], rows)}`;
  });
  return page(
    'Settings',
    'Flags beat the environment, the environment beats the settings file (`--config FILE`, `BILLSYNC_CONFIG`, else ' +
      '`./billsync.yaml`), the file beats defaults. An unknown key is refused, and all problems are reported at once. ' +
      '`billsync config show` prints the effective settings and their sources; `billsync init` writes a commented file.',
    ...groups,
    '## Temporal\n\nTemporal’s own names (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_…`, ' +
      '`TEMPORAL_PROFILE`) have the same meaning as for its command line. Without `TEMPORAL_ADDRESS`, billsync starts ' +
      'a development server of its own; see [production](../how-to/production.md).',
  );
}

/** @throws Error a column has no meaning, or a new view is not listed */
async function tablesPage(): Promise<string> {
  const columns = await readColumns();
  const views = new Set(columns.map(({ view }) => view));
  const unlisted = [...views].filter((view) => !VIEWS.includes(view));
  const bare = columns.filter(({ view, name }) => columnMeaning(view, name) === undefined);
  if (unlisted.length > 0)
    throw new Error(`scripts/reference/pages.ts does not list ${unlisted.join(', ')}.`);
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
      'added, never renamed or removed without a version in which both exist. How to open the file, and four rules for correct totals, ' +
      'are in [your-own-tools.md](../your-own-tools.md). Instants are `TIMESTAMP WITH TIME ZONE`. ' +
      'The macro `shipments_as_known_on(instant)` has the columns of `shipments`.',
    ...sections,
  );
}
