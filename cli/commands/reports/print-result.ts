/** Prints what was answered: rows to stdout or to a file, whole, and what has to be known of them to stderr. */

import { existsSync } from 'node:fs';
import { writeWhole } from '../../../ops/write-whole.ts';
import { weighedLabel } from '../../../reports/render/labels.ts';
import { fileNameOf } from '../../../reports/render/names.ts';
import { type ReportFormat, renderReport } from '../../../reports/render/render-report.ts';
import type { ReportResult } from '../../../reports/report-result.ts';
import { CliError, EXIT, nothingIs } from '../../errors.ts';
import { counted, type Output } from '../../terminal/output.ts';

/** @throws CliError a filter matched nothing (exit 3), bytes for a terminal (exit 2) */
export async function printResult(
  result: ReportResult,
  {
    format,
    output,
    flags,
  }: {
    readonly format: ReportFormat;
    readonly output: Output;
    readonly flags: { readonly output?: string; readonly dryRun?: boolean };
  },
): Promise<void> {
  refuseUnmatched(result);
  const isTerminal = process.stdout.isTTY === true && flags.output === undefined;
  const rendered = await renderReport(result, format, {
    width: isTerminal ? process.stdout.columns : undefined,
    color: isTerminal && !process.env.NO_COLOR,
  });
  if (rendered.isBinary && isTerminal) {
    throw new CliError(EXIT.usage, `${format} is not for a terminal`, {
      hint: `add --output ${fileNameOf(result, rendered.extension)}`,
    });
  }
  if (flags.output !== undefined && flags.dryRun !== true) await writeWhole(flags.output, rendered.body);
  output.note(headOf(result));
  if (flags.output === undefined) await written(rendered.body);
  else if (flags.dryRun === true) {
    const replaced = existsSync(flags.output) ? ', in the place of the file that is there' : '';
    output.note(
      `Would write ${counted(result.rows.length, 'row')} as ${format} (${Buffer.byteLength(rendered.body)} bytes) to ${flags.output}${replaced}.`,
    );
  } else {
    output.note(`Wrote ${flags.output}.`);
  }
}

/** A misspelt name must not look like a month without shipments. @throws CliError (exit 3) */
function refuseUnmatched({ head }: ReportResult): void {
  const [unmatched] = head.matches.filter(({ matched }) => matched.length === 0);
  if (unmatched !== undefined) throw nothingIs(unmatched);
}

/** What has to be known to trust the rows; on stderr, so that stdout stays data. */
function headOf({ title, head }: ReportResult): string {
  const { filters } = head;
  const applied = [
    filters.from === null && filters.to === null
      ? null
      : `${filters.by} from ${filters.from ?? 'the beginning'} to ${filters.to ?? 'the end'}`,
    listed('partner', filters.partners),
    listed('tenant', filters.tenants),
    listed('carrier', filters.carriers),
    listed('zone', filters.zones),
    listed('currency', filters.currencies),
    filters.asKnownOn === null ? null : `as known on ${filters.asKnownOn}`,
  ].filter((part) => part !== null);
  const parameters = Object.entries(head.parameters).flatMap(([key, value]) =>
    value === null ? [] : [`${key} ${value}`],
  );
  const proved = head.provedPercent === null ? '' : `, ${head.provedPercent} % of them proved`;
  return [
    title,
    `  ${applied.length === 0 ? 'everything' : applied.join('; ')}; level ${head.level}; ${head.shipments} shipments${proved}; ${head.rows} rows`,
    `  weighed: ${weighedLabel(head)}${parameters.length === 0 ? '' : `; parameters: ${parameters.join(', ')}`}`,
    `  published ${head.asOf} (number ${head.publication}), instants in ${head.timeZone}`,
    ...head.notes.map((note) => `  note: ${note}`),
  ].join('\n');
}

function listed(name: string, values: readonly string[]): string | null {
  return values.length === 0 ? null : `${name} ${values.join(', ')}`;
}

function written(body: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(body, (error) => (error ? reject(error) : resolve()));
  });
}
