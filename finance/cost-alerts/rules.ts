import { z } from 'zod';
import { readCheckedYaml, type YamlFile } from '../../lib/checked-yaml.ts';
import { BillsyncError, EXIT, errorClass } from '../../lib/errors.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { findReport } from '../../reports/catalogue.ts';
import { bindParameters } from '../../reports/parameters.ts';
import { checkFilters } from '../../reports/report-filters.ts';

const names = z.array(z.string()).default([]);
/** An amount is the text of the YAML file, and is compared exactly, never as a float. */
const amount = z.string().regex(/^-?\d{1,14}(\.\d{1,6})?$/, 'write digits with a point, as in 12.50');

const Rule = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,59}$/, 'small letters, digits and hyphens, at most 60'),
  report: z.string(),
  parameters: z.record(z.string(), z.string()).default({}),
  filters: z
    .strictObject({
      ...{ partner: names, tenant: names, carrier: names, zone: names, currency: names },
      ...{ level: z.string().optional(), by: z.string().optional() },
    })
    .prefault({}),
  period: z.string().optional(),
  /** How many weeks before the last one are averaged, to be compared with it. */
  trailing: z
    .string()
    .regex(/^([1-9]|[1-4]\d|5[0-2])$/, 'a number of weeks, 1 to 52')
    .transform(Number)
    .optional(),
  /** The column that `trailing` averages. A sum is divided by the number of weeks; a ratio is that of all these weeks together. */
  of: z
    .enum(['billing_cost', 'shipments', 'packages', 'cost_per_shipment', 'cost_per_lb'])
    .default('billing_cost'),
  /** Conditions, of which a row must meet all; without any, every row is a finding. */
  when: z
    .record(
      z.string(),
      z.union([
        z.strictObject({ above: amount }),
        z.strictObject({ below: amount }),
        z.strictObject({ is: z.string() }),
      ]),
    )
    .default({}),
});

const Rules = z.strictObject({ rules: z.array(Rule) });

export type CostRule = z.output<typeof Rule>;

export class CostRulesError extends errorClass({
  'cost-rules-invalid': {
    message: '%s',
    exitCode: EXIT.usage,
    hint: 'docs/how-to/cost-alerts.md describes the file; `billsync alerts costs --rules FILE` tests it',
  },
}) {}

/** Reads the rules; null when there is no file of them. @throws CostRulesError as `parseCostRules` */
export async function readCostRules(dataDir: string): Promise<readonly CostRule[] | null> {
  const store = await userStore(dataDir);
  const text = await store.read(USER_FILES.costRules);
  return text === null
    ? null
    : parseCostRules({ path: store.place(USER_FILES.costRules), text: String(text) });
}

/** All rules are valid, or @throws CostRulesError naming the line, the rule and what to write instead */
export async function parseCostRules(file: YamlFile): Promise<readonly CostRule[]> {
  const { value, refuse } = await readCheckedYaml(
    file,
    Rules,
    (problem) => new CostRulesError('cost-rules-invalid', [problem]),
  );
  const seen = new Set<string>();
  for (const [index, rule] of value.rules.entries()) {
    const wrong = seen.has(rule.name) ? 'another rule has this name' : await problemOf(rule);
    if (wrong !== null) refuse(['rules', index], `rule ${rule.name}: ${wrong}`);
    seen.add(rule.name);
  }
  return value.rules;
}

async function problemOf(rule: CostRule): Promise<string | null> {
  if (rule.trailing !== undefined && rule.period !== undefined)
    return 'trailing is of the last whole week, so a period cannot be given';
  try {
    const report = findReport(rule.report);
    bindParameters(report, rule.parameters);
    checkFilters({ period: rule.period, level: rule.filters.level, by: rule.filters.by });
    return null;
  } catch (error) {
    if (error instanceof BillsyncError) return error.message;
    throw error;
  }
}
