/**
 * A report's parameters become variables of the session, as its filters are: DuckDB plans a statement with placeholders when it is
 * prepared and again when it is run, and knows the value of a variable before it plans.
 */

import type { BoundParameters } from './bind-parameters.ts';
import type { ParameterType, ReportDefinition } from './catalogue.ts';
import type { PublishedFile } from './published-file.ts';

/** Dates and instants are checked text, which the report casts. */
const TYPES: Readonly<Record<ParameterType, string>> = {
  text: 'varchar',
  date: 'varchar',
  instant: 'varchar',
  integer: 'bigint',
  decimal: 'decimal(18, 4)',
};

/** Questions of one session may be asked at a time, each with values of its own. */
let asked = 0;

/**
 * Sets the variables, each bound and none written into a text.
 *
 * @returns the report's statement with the variables in place of `$name`
 */
export async function asVariables(
  file: PublishedFile,
  report: ReportDefinition,
  { bound }: BoundParameters,
): Promise<string> {
  asked += 1;
  const prefix = `asked_${asked}`;
  for (const [name, value] of Object.entries(bound))
    await file.query(`set variable ${prefix}_${name} = $value`, { value });
  const types = new Map(report.parameters.map(({ name, type }) => [name, TYPES[type]]));
  return report.sql.replaceAll(/\$([a-z_]+)/g, (placeholder, name: string) => {
    const type = types.get(name);
    return type === undefined ? placeholder : `cast(getvariable('${prefix}_${name}') as ${type})`;
  });
}
