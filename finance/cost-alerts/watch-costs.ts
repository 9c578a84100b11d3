/** Checks the rules of cost alerts after publications: each finding raises an alert once. */

import type { Alerts } from '../../lib/alerts/alerts.ts';
import { BillsyncError } from '../../lib/errors.ts';
import type { Check } from '../../lib/health/health.ts';
import type { Logger } from '../../lib/log/log.ts';
import { messageOf } from '../../lib/system-errors.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { isReportError } from '../../reports/errors.ts';
import { type CostFinding, findCosts } from './find-costs.ts';
import { type CostRule, readCostRules } from './rules.ts';

export interface CostWatchOptions {
  readonly dataDir: string;
  readonly databasePath: string;
  /** The address of the dashboard; with null, alerts name the command instead of a link. */
  readonly dashboardUrl: string | null;
  readonly alerts: Alerts;
  readonly log: Logger;
  readonly now?: () => Date;
}

/** Further new findings of a rule are one alert: its first check may find hundreds. */
const MAX_SINGLE_ALERTS = 10;
const TIME_LIMIT_MS = 60_000;
const EVERY_MS = 3_600_000;
/** Publications in quick succession are checked together. */
const PAUSE_MS = 60_000;
const CANNOT_APPLY = { key: 'cost-rules', title: 'Cost rules cannot be applied' } as const;
/** A finding is forgotten after more than any period, since days are part of its id. */
const FORGOTTEN_AFTER_MS = 400 * 86_400_000;

/** A failed check is an alert until one succeeds. */
export function watchCosts(options: CostWatchOptions) {
  const { log, alerts } = options;
  let isDue = true;
  let checkedAtMs = 0;
  async function run(): Promise<void> {
    if (!isDue && performance.now() - checkedAtMs < EVERY_MS) return;
    isDue = false;
    checkedAtMs = performance.now();
    await checkCosts(options).catch((error: unknown) => {
      log.error({ err: error }, 'the cost rules could not be applied to what is published');
      alerts.raise({ ...CANNOT_APPLY, detail: withHint(error) });
    });
  }
  return {
    published(): void {
      isDue = true;
    },
    /** A tenant without invoices causes no publication, so rules are also checked every hour. */
    check: { component: 'cost rules', everyMs: PAUSE_MS, run } satisfies Check,
  };
}

export async function checkCosts(options: CostWatchOptions): Promise<void> {
  const { dataDir, databasePath, alerts, now = () => new Date() } = options;
  const problems: string[] = [];
  const rules = await readCostRules(dataDir).catch((error: unknown) => {
    problems.push(messageOf(error));
    return [];
  });
  const store = await userStore(dataDir);
  const reported =
    rules === null || rules.length === 0
      ? new Map<string, string>()
      : reportedIn(await store.read(USER_FILES.costFindings));
  const at = now();
  const found = new Set<string>();
  let isNews = false;
  for (const rule of rules ?? []) {
    try {
      const findings = await findCosts(rule, { databasePath, now: at, timeLimitMs: TIME_LIMIT_MS });
      const fresh = findings.filter(({ id }) => !reported.has(id));
      isNews ||= fresh.length > 0;
      report(rule, fresh, options);
      for (const { id } of findings) found.add(id);
    } catch (error) {
      if (isReportError(error, 'not-published')) return;
      problems.push(`rule ${rule.name}: ${withHint(error)}`);
    }
  }
  // A finding is reported before it is recorded, so that a crash in between reports it twice and never not at all.
  if (isNews)
    await store.change(USER_FILES.costFindings, (before) => withFound(reportedIn(before), found, at), {
      isFlushed: false,
    });
  if (problems.length === 0) return alerts.resolve('cost-rules');
  alerts.raise({ ...CANNOT_APPLY, detail: problems.join('; ') });
}

function withHint(error: unknown): string {
  const hint = error instanceof BillsyncError && error.hint !== null ? ` (${error.hint})` : '';
  return `${messageOf(error)}${hint}`;
}

function report(
  rule: CostRule,
  fresh: readonly CostFinding[],
  { alerts, dashboardUrl }: CostWatchOptions,
): void {
  const linkTo = ({ command, page }: CostFinding): string =>
    dashboardUrl === null ? command : new URL(page.slice(1), `${dashboardUrl.replace(/\/*$/, '')}/`).href;
  for (const finding of fresh.slice(0, MAX_SINGLE_ALERTS)) {
    const key = `cost-rule/${rule.name}/${finding.id}` as const;
    alerts.raise({ key, title: `${rule.name}: ${finding.what}`, detail: linkTo(finding) });
  }
  const [next, ...more] = fresh.slice(MAX_SINGLE_ALERTS);
  if (next === undefined) return;
  const title = `${rule.name}: ${more.length + 1} more finding${more.length === 0 ? '' : 's'}`;
  alerts.raise({ key: `cost-rule/${rule.name}/${next.id}`, title, detail: linkTo(next) });
}

/**
 * Instant of the last check that found it, by id. An unreadable file is replaced, and its findings are
 * reported again.
 */
function reportedIn(file: Buffer | null): ReadonlyMap<string, string> {
  try {
    const reported = Object.entries(JSON.parse(String(file ?? '{}')) as Record<string, unknown>);
    return new Map(reported.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
  } catch {
    return new Map();
  }
}

function withFound(reported: ReadonlyMap<string, string>, found: ReadonlySet<string>, at: Date): string {
  const oldest = new Date(at.getTime() - FORGOTTEN_AFTER_MS).toISOString();
  const kept = [...reported].filter(([, foundAt]) => foundAt >= oldest);
  const now = [...found].map((id) => [id, at.toISOString()]);
  return `${JSON.stringify(Object.fromEntries([...kept, ...now]))}\n`;
}
