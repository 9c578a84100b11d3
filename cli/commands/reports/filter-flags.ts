/** The filters that every report takes, as flags. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { PERIOD_FORMS } from '../../../reports/period.ts';
import { DATE_BASES, REPORT_LEVELS } from '../../../reports/report-filters.ts';
import { collect } from '../../verb.ts';

/** @returns the command, with a flag for each filter */
export function withFilterFlags(command: Command): Command {
  return command
    .option('--from <date>', 'first day, YYYY-MM-DD')
    .option('--to <date>', 'last day, included, YYYY-MM-DD')
    .option('--period <period>', `instead of --from and --to: ${PERIOD_FORMS}`)
    .addOption(
      new Option('--by <date>', 'the date that the period selects by')
        .choices([...DATE_BASES])
        .argParser(dateBasis),
    )
    .option('--partner <partner>', 'only this partner, by id or name (repeatable)', collect)
    .option('--tenant <tenant>', 'only this tenant, by id or name (repeatable)', collect)
    .option('--carrier <name>', 'only this carrier, in upper or lower case (repeatable)', collect)
    .option('--zone <zone>', 'only this zone, as the carrier wrote it (repeatable)', collect)
    .option('--currency <code>', 'only this currency (repeatable)', collect)
    .addOption(
      new Option('--level <level>', 'invoices of tenants or the partner’s own that sum them').choices([
        ...REPORT_LEVELS,
      ]),
    )
    .option('--as-known-on <instant>', 'answer as of that instant; a date means its end in UTC');
}

/** Some reports group by a parameter of their own that has the same name. */
function dateBasis(text: string): string {
  if (DATE_BASES.some((basis) => basis === text)) return text;
  throw new InvalidArgumentError(
    `It must be ${DATE_BASES.join(' or ')}; what a report groups by is a parameter of its own: --param by=${text}`,
  );
}

/** For `--param NAME=VALUE`, repeated. */
export function collectParameter(
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('It must be NAME=VALUE.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}
