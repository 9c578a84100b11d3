import { existsSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { writeWhole } from '../lib/files/files.ts';
import { hasColors } from '../lib/runtime.ts';
import { PERIOD_FORMS } from '../reports/period.ts';
import { fileNameOf, weighedLabel } from '../reports/render/labels.ts';
import {
  extensionOf,
  formatOf,
  inOneBatch,
  REPORT_FORMATS,
  type ReportFormat,
  readersOf,
  streamReport,
} from '../reports/render/render-report.ts';
import { DATE_BASES, REPORT_LEVELS } from '../reports/report-filters.ts';
import type { ReportResult, StreamedResult } from '../reports/report-result.ts';
import { CliError, EXIT, nothingMatchedText } from './errors.ts';
import { counted, type Output } from './terminal/output.ts';
import { printable } from './terminal/table.ts';
import { collect, type Verb } from './verb.ts';

interface PrintFlags {
  readonly output?: string;
  readonly dryRun?: boolean;
}

interface Printing {
  readonly format: ReportFormat;
  readonly output: Output;
  readonly flags: PrintFlags;
}

export async function printResult(result: ReportResult, printing: Printing): Promise<void> {
  const { rows, ...rest } = result;
  await printStreamed({ ...rest, batches: inOneBatch(rows) }, printing);
}

export async function printStreamed(
  result: StreamedResult,
  { format, output, flags }: Printing,
): Promise<void> {
  refuseUnmatched(result);
  const isTerminal = process.stdout.isTTY === true && flags.output === undefined;
  const rendered = streamReport(result, format, {
    width: isTerminal ? process.stdout.columns : undefined,
    color: isTerminal && hasColors(process.stdout),
  });
  if (rendered.isBinary && isTerminal) {
    throw new CliError(EXIT.usage, `${format} is not for a terminal`, {
      hint: `add --output ${fileNameOf(result, rendered.extension)}`,
    });
  }
  if (flags.output !== undefined && flags.dryRun !== true) await writeWhole(flags.output, rendered.parts);
  output.note(headOf(result));
  const readers = readersOf(format);
  if (readers !== null) output.note(`  ${readers}`);
  const { rows, found } = result.head;
  // The warning is printed with --quiet too: scripts use it, and an incomplete file must not pass for a whole one.
  if (output.quiet && rows < found && (flags.output !== undefined || format !== 'table'))
    output.warn(`${rows} of ${found} rows: a limit leaves out the others`);
  // Rows of a person's own file that match nothing are no choice of the command: they are named with --quiet too.
  if (output.quiet) for (const note of result.head.files) output.warn(`note: ${printable(note)}`);
  if (flags.output === undefined) for await (const part of rendered.parts) await writeToStdout(part);
  else if (flags.dryRun === true) {
    let bytes = 0;
    for await (const part of rendered.parts) bytes += Buffer.byteLength(part);
    const replaced = existsSync(flags.output) ? ', in the place of the file that is there' : '';
    output.note(
      `Would write ${counted(result.head.rows, 'row')} as ${format} (${bytes} bytes) to ${flags.output}${replaced}.`,
    );
  } else {
    output.note(`Wrote ${flags.output}.`);
  }
}

export function chosenFormat(
  usual: ReportFormat,
  { format, output }: { readonly format?: ReportFormat | undefined; readonly output?: string | undefined },
): ReportFormat {
  const ending = output === undefined ? '' : extname(output);
  if (output === undefined || (ending === '' && format !== undefined)) return format ?? usual;
  // A device or a pipe has no name to go by.
  if (ending === '' && existsSync(output) && !statSync(output).isFile()) return format ?? usual;
  const named = formatOf(output);
  const isNamed = format !== undefined && output.toLowerCase().endsWith(`.${extensionOf(format)}`);
  if (named !== undefined && (format === undefined || isNamed)) return format ?? named;
  if (format === undefined) {
    throw new CliError(EXIT.usage, 'the extension of the file names no format', {
      subject: output,
      hint: `end it in one of ${fileEndings().join(', ')}, or add --format`,
    });
  }
  throw new CliError(EXIT.usage, `the name of the file is not that of ${format}`, {
    subject: output,
    hint: `end it in .${extensionOf(format)}${named === undefined ? '' : `, or leave out --format for ${named}`}`,
  });
}

function fileEndings(): readonly string[] {
  return [...new Set(REPORT_FORMATS.map((format) => `.${extensionOf(format)}`))];
}

/** A misspelt name must not look like a period without shipments. @throws CliError (exit 3) */
function refuseUnmatched({ head }: Pick<ReportResult, 'head'>): void {
  const [unmatched] = head.matches.filter(({ matched }) => matched.length === 0);
  if (unmatched !== undefined) throw nothingMatchedText(unmatched);
}

function headOf({ title, head }: Pick<ReportResult, 'title' | 'head'>): string {
  const { filters } = head;
  const applied = [
    filters.from === null && filters.to === null
      ? `all days by ${filters.by}`
      : `${filters.by} from ${filters.from ?? 'the beginning'} to ${filters.to ?? 'the end'}`,
    filterText('partner', filters.partners),
    filterText('tenant', filters.tenants),
    filterText('carrier', filters.carriers),
    filterText('zone', filters.zones),
    filterText('currency', filters.currencies),
    filters.asKnownOn === null ? null : `as known on ${filters.asKnownOn}`,
  ].filter((part) => part !== null);
  const parameters = Object.entries(head.parameters).flatMap(([key, value]) =>
    value === null ? [] : [`${key} ${value}`],
  );
  const proved = head.provedPercent === null ? '' : `, ${head.provedPercent} % of them proved`;
  return [
    title,
    `  ${applied.join('; ')}; level ${head.level}; ${head.shipments} shipments${proved}; ${head.rows} rows`,
    `  weighed: ${weighedLabel(head)}${parameters.length === 0 ? '' : `; parameters: ${parameters.join(', ')}`}`,
    `  published ${head.asOf} (number ${head.publication}), instants in ${head.timeZone}`,
    ...head.notes.map((note) => `  note: ${note}`),
  ]
    .map(printable)
    .join('\n');
}

function filterText(name: string, values: readonly string[]): string | null {
  return values.length === 0 ? null : `${name} ${values.join(', ')}`;
}

function writeToStdout(body: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(body, (error) => (error ? reject(error) : resolve()));
  });
}

export function withFilterFlags(command: Verb): Verb {
  return command
    .option('--from <date>', 'first day, YYYY-MM-DD')
    .option('--to <date>', 'last day, included, YYYY-MM-DD')
    .option('--period <period>', `instead of --from and --to: ${PERIOD_FORMS}`)
    .addOption(
      new Option('--by <date>', 'date to which the period applies')
        .choices([...DATE_BASES])
        .argParser(dateBasis),
    )
    .option('--partner <partner>', 'only this partner, by id or name (repeatable)', collect)
    .option('--tenant <tenant>', 'only this tenant, by id or name (repeatable)', collect)
    .option('--carrier <name>', 'only this carrier, in upper or lower case (repeatable)', collect)
    .option('--zone <zone>', 'only this zone, as written in the file (repeatable)', collect)
    .option('--currency <code>', 'only this currency (repeatable)', collect)
    .addOption(
      new Option(
        '--level <level>',
        'invoices of tenants, of the partner (which sum all tenants), or all',
      ).choices([...REPORT_LEVELS]),
    )
    .option('--as-known-on <instant>', 'data as it was known at this instant; a date means its end in UTC');
}

/** Some reports group by a parameter of their own that has the same name. */
function dateBasis(text: string): string {
  if (DATE_BASES.some((basis) => basis === text)) return text;
  throw new InvalidArgumentError(
    `It must be ${DATE_BASES.join(' or ')}; to group a report, use its parameter: --param by=${text}`,
  );
}

export function collectParameter(
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('It must be NAME=VALUE.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}
