/** A failing rule never ends the suite; an absent service does. */
import { UnreachableError } from './http.ts';
import { BrokenRuleError, type Row, type Rule } from './rule.ts';
import { authorizationRules } from './rules/authorization.ts';
import { csvRules } from './rules/csv.ts';
import { deliveryRules } from './rules/deliveries.ts';
import { endpointRules } from './rules/endpoints.ts';
import { envelopeRules } from './rules/envelope.ts';
import { lifecycleRules } from './rules/lifecycle.ts';
import { registrationRules } from './rules/registrations.ts';
import { storageRules } from './rules/storage.ts';
import { RefusedCredentialsError } from './service.ts';
import type { SuiteContext } from './suite-context.ts';
import { SkippedRuleError } from './suite-context.ts';

export const RULES: readonly Rule[] = [
  ...authorizationRules,
  ...registrationRules,
  ...envelopeRules,
  ...csvRules,
  ...lifecycleRules,
  ...endpointRules,
  ...storageRules,
  ...deliveryRules,
].sort((one, other) => compareSections(one.section, other.section));

const AT_ONCE = 8;

export interface SuiteOptions {
  /** Sections (`6`, `6.7`) or ids; empty runs all. */
  readonly only?: readonly string[];
  readonly onRow?: (row: Row) => void;
}

/** @throws RefusedCredentialsError, UnreachableError when the service cannot be checked at all */
export async function runSuite(
  context: SuiteContext,
  { only = [], onRow = () => {} }: SuiteOptions = {},
): Promise<Row[]> {
  await context.service.token();
  const selected = RULES.filter((rule) => only.length === 0 || only.some((name) => isNamed(rule, name)));
  const rows = new Map<Rule, Row>();
  // From the end: the rules of sections 6 to 8 have to wait for timeouts and retries.
  const queue = [...selected];
  const work = async () => {
    for (let rule = queue.pop(); rule !== undefined; rule = queue.pop()) {
      const row = await rowOf(rule, context);
      rows.set(rule, row);
      onRow(row);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return selected.flatMap((rule) => rows.get(rule) ?? []);
}

export function isNamed({ section, id }: Rule, name: string): boolean {
  return id === name || section === name || section.startsWith(`${name}.`);
}

async function rowOf({ section, id, rule, check }: Rule, context: SuiteContext): Promise<Row> {
  try {
    return { section, id, rule, verdict: 'pass', seen: await check(context) };
  } catch (error) {
    if (error instanceof RefusedCredentialsError || error instanceof UnreachableError) {
      return { section, id, rule, verdict: 'fail', seen: error.message };
    }
    if (error instanceof SkippedRuleError) {
      return { section, id, rule, verdict: 'skipped', seen: error.message };
    }
    if (error instanceof BrokenRuleError) return { section, id, rule, verdict: 'fail', seen: error.message };
    return { section, id, rule, verdict: 'fail', seen: `the check ended early: ${(error as Error).message}` };
  }
}

function compareSections(one: string, other: string): number {
  const [a = 0, b = 0] = one.split('.').map(Number);
  const [c = 0, d = 0] = other.split('.').map(Number);
  return a - c || b - d;
}
