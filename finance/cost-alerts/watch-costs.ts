/** Alerts about findings of the cost rules, each once. */

import { readFile } from 'node:fs/promises';
import type { Alerts } from '../../lib/alerts/alerts.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { replaceDurably } from '../../lib/files/durable-files.ts';
import type { Check } from '../../lib/health/health.ts';
import type { Logger } from '../../lib/log/log.ts';
import { messageOf, naming, systemCode } from '../../lib/system-errors.ts';
import { BillsyncError } from '../../lib/wire/errors.ts';
import { isReportError } from '../../reports/errors.ts';
import { type CostFinding, findCosts } from './find-costs.ts';
import { type CostRule, readCostRules } from './rules.ts';

export interface CostWatchOptions {
  readonly rulesPath: string;
  /** File of the findings that were reported; its folder exists. */
  readonly memoryPath: string;
  readonly databasePath: string;
  /** The dashboard's address, for links; null: the command is named instead. */
  readonly dashboardUrl: string | null;
  readonly alerts: Alerts;
  readonly log: Logger;
  readonly now?: () => Date;
  /** Minimum time between two checks. */
  readonly pauseMs?: number;
}

export interface CostWatch {
  /** Called after each publication. */
  published(): void;
  /** A tenant without invoices causes no publication, so rules are also checked on a schedule. */
  readonly check: Check;
  close(): Promise<void>;
}

export function costPaths(dataDir: string): Pick<CostWatchOptions, 'rulesPath' | 'memoryPath'> {
  const { costRules, costFindings } = dataFolder(dataDir);
  return { rulesPath: costRules, memoryPath: costFindings };
}

/** More new findings of one rule are reported as a count: its first check may find hundreds. */
const TOLD_ONE_BY_ONE = 10;
const TIME_LIMIT_MS = 60_000;
const EVERY_MS = 3_600_000;
const CANNOT_APPLY = { key: 'cost-rules', title: 'Cost rules cannot be applied' } as const;
/** How long findings that are no longer found are remembered. Days are part of their id, so this exceeds every period. */
const FORGOTTEN_AFTER_MS = 400 * 86_400_000;

/** Checks after publications, at most once in `pauseMs`, and on its schedule; a failed check is an alert until one succeeds. */
export function watchCosts(options: CostWatchOptions): CostWatch {
  const { log, pauseMs = 60_000 } = options;
  let looking: Promise<void> | null = null;
  let planned: NodeJS.Timeout | undefined;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let isWanted = false;
  let isClosed = false;

  function plan(): void {
    isWanted = true;
    if (isClosed || planned !== undefined || looking !== null) return;
    planned = setTimeout(look, Math.max(0, lookedAtMs + pauseMs - performance.now())).unref();
  }
  function look(): void {
    planned = undefined;
    isWanted = false;
    looking = lookAtCosts(options)
      .catch((error: unknown) => {
        log.error({ err: error }, 'the cost rules could not be applied to what is published');
        options.alerts.raise({ ...CANNOT_APPLY, detail: withHint(error) });
      })
      .finally(() => {
        looking = null;
        lookedAtMs = performance.now();
        if (isWanted) plan();
      });
  }
  return {
    published: plan,
    check: { component: 'cost rules', everyMs: EVERY_MS, run: plan },
    async close() {
      isClosed = true;
      clearTimeout(planned);
      await looking;
    },
  };
}

/** Checks each rule separately, so that a failing rule does not stop the others. */
export async function lookAtCosts(options: CostWatchOptions): Promise<void> {
  const { rulesPath, memoryPath, databasePath, alerts, now = () => new Date() } = options;
  const problems: string[] = [];
  const rules = await readCostRules(rulesPath).catch((error: unknown) => {
    problems.push(messageOf(error));
    return [];
  });
  const reported =
    rules === null || rules.length === 0 ? new Map<string, string>() : await readReported(memoryPath);
  const at = now();
  let isNews = false;
  for (const rule of rules ?? []) {
    try {
      const found = await findCosts(rule, { databasePath, now: at, timeLimitMs: TIME_LIMIT_MS });
      const fresh = found.filter(({ id }) => !reported.has(id));
      isNews ||= fresh.length > 0;
      tell(rule, fresh, options);
      for (const { id } of found) reported.set(id, at.toISOString());
    } catch (error) {
      if (isReportError(error, 'not-published')) return;
      problems.push(`rule ${rule.name}: ${withHint(error)}`);
    }
  }
  // Reported before it is recorded: a crash in between reports twice, never not at all.
  if (isNews) await writeReported(memoryPath, reported, at);
  if (problems.length === 0) return alerts.resolve('cost-rules');
  alerts.raise({ ...CANNOT_APPLY, detail: problems.join('; ') });
}

function withHint(error: unknown): string {
  const hint = error instanceof BillsyncError && error.hint !== null ? ` (${error.hint})` : '';
  return `${messageOf(error)}${hint}`;
}

function tell(
  rule: CostRule,
  fresh: readonly CostFinding[],
  { alerts, dashboardUrl }: CostWatchOptions,
): void {
  const shownAt = ({ command, page }: CostFinding): string =>
    dashboardUrl === null ? command : new URL(page.slice(1), `${dashboardUrl.replace(/\/*$/, '')}/`).href;
  for (const finding of fresh.slice(0, TOLD_ONE_BY_ONE)) {
    const key = `cost-rule/${rule.name}/${finding.id}` as const;
    alerts.raise({ key, title: `${rule.name}: ${finding.what}`, detail: shownAt(finding) });
  }
  const [next, ...more] = fresh.slice(TOLD_ONE_BY_ONE);
  if (next === undefined) return;
  const title = `${rule.name}: ${more.length + 1} more finding${more.length === 0 ? '' : 's'}`;
  alerts.raise({ key: `cost-rule/${rule.name}/${next.id}`, title, detail: shownAt(next) });
}

/** Instant of the last check that found it, by id. An unreadable file is replaced, and its findings are reported again. */
async function readReported(path: string): Promise<Map<string, string>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) =>
    systemCode(error) === 'ENOENT' ? '{}' : naming(path)(error),
  );
  try {
    const reported = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(reported.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
  } catch {
    return new Map();
  }
}

async function writeReported(path: string, reported: ReadonlyMap<string, string>, at: Date): Promise<void> {
  const oldest = new Date(at.getTime() - FORGOTTEN_AFTER_MS).toISOString();
  const kept = [...reported].filter(([, foundAt]) => foundAt >= oldest);
  await replaceDurably(path, `${JSON.stringify(Object.fromEntries(kept))}\n`).catch(naming(path));
}
