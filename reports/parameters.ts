import type { DuckDBValue } from '@duckdb/node-api';
import { didYouMean } from '../lib/config/did-you-mean.ts';
import { decimalValue } from '../lib/duckdb-values.ts';
import type { ParameterType, ReportDefinition, ReportParameter } from './catalogue.ts';
import { invalidFilter } from './errors.ts';
import type { PublishedFile } from './open-published-file.ts';
import { checkDay } from './period.ts';
import { checkInstant } from './report-filters.ts';

export interface BoundParameters {
  readonly bound: Readonly<Record<string, DuckDBValue>>;
  readonly texts: Readonly<Record<string, string | null>>;
}

/** @throws ReportError an unknown name, or a value of another type */
export function bindParameters(
  report: ReportDefinition,
  given: Readonly<Record<string, string>>,
): BoundParameters {
  const names = report.parameters.map((parameter) => parameter.name);
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw invalidFilter(`Report ${report.name} has no parameter "${name}".${didYouMean(name, names)}`);
  }
  const bound: Record<string, DuckDBValue> = {};
  const texts: Record<string, string | null> = {};
  for (const parameter of report.parameters) {
    const text = given[parameter.name] ?? parameter.default;
    const value = text === null ? null : boundValue(parameter, text);
    bound[parameter.name] = value;
    const isRewritten = parameter.takesSeveral || parameter.type === 'currency';
    texts[parameter.name] = isRewritten && typeof value === 'string' ? value : text;
  }
  return { bound, texts };
}

/** Binds a value; dates and instants are checked text, which the query casts. */
function boundValue(parameter: ReportParameter, text: string): DuckDBValue {
  switch (parameter.type) {
    case 'text':
      if (parameter.choices === null) return text;
      if (parameter.takesSeveral) return severalOf(parameter, parameter.choices, text);
      if (parameter.choices.includes(text)) return text;
      throw invalidFilter(
        `"${text}" is no value for ${parameter.name}: take ${parameter.choices.join(', ')}.`,
      );
    case 'currency':
      if (/^[a-z]{3}$/i.test(text)) return text.toUpperCase();
      throw invalidFilter(
        `"${text}" is no currency for ${parameter.name}: write its three letters, as in USD.`,
      );
    case 'date':
      return checkDay(parameter.name, text);
    case 'instant':
      return checkInstant(parameter.name, text);
    case 'integer':
      if (/^-?\d{1,9}$/.test(text)) return Number(text);
      throw invalidFilter(`"${text}" is no whole number for ${parameter.name}.`);
    case 'decimal':
      if (/^-?\d{1,14}(\.\d{1,4})?$/.test(text)) return decimalValue(text, 18, 4);
      throw invalidFilter(`"${text}" is no decimal number for ${parameter.name}.`);
  }
}

function severalOf({ name }: ReportParameter, choices: readonly string[], text: string): string {
  const names = text.split(/[+,\s]+/).filter((part) => part !== '');
  const unknown = names.find((each) => !choices.includes(each));
  if (unknown === undefined && names.length > 0) return [...new Set(names)].join('+');
  throw invalidFilter(
    `"${unknown ?? text}" is no value for ${name}: take one or more of ${choices.join(', ')}, joined by +.`,
  );
}

const TYPES: Readonly<Record<ParameterType, string>> = {
  text: 'varchar',
  currency: 'varchar',
  date: 'varchar',
  instant: 'varchar',
  integer: 'bigint',
  decimal: 'decimal(18, 4)',
};

/** Reports of one session may run concurrently, each with its own values. */
let prefixes = 0;

/**
 * Variables instead of placeholders: DuckDB plans a statement with placeholders twice, and uses the value of
 * a variable in its plan. Returns the statement with variables in place of `$name`.
 */
export async function setParameterVariables(
  file: PublishedFile,
  report: ReportDefinition,
  { bound }: BoundParameters,
): Promise<string> {
  prefixes += 1;
  const prefix = `parameters_${prefixes}`;
  for (const [name, value] of Object.entries(bound))
    await file.query(`set variable ${prefix}_${name} = $value`, { value });
  const types = new Map(report.parameters.map(({ name, type }) => [name, TYPES[type]]));
  return report.sql.replaceAll(/\$([a-z_]+)/g, (placeholder, name: string) => {
    const type = types.get(name);
    return type === undefined ? placeholder : `cast(getvariable('${prefix}_${name}') as ${type})`;
  });
}
