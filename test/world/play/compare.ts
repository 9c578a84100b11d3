/** Asks the product and the model the same, and names the first difference. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportRow } from '../../../reports/cells.ts';
import { openReportSession, type ReportSession, runReport } from '../../../reports/report-session.ts';
import type { Filters, History, Question } from '../history.ts';
import { type AnswerRow, compareKeys, type Key } from '../model/answer.ts';
import { CATALOGUE } from '../model/catalogue.ts';
import { type View, viewsOf } from '../model/view.ts';
import { Difference, type Played } from './fast.ts';
import { isUnfixedQuestion, isUnfixedWorld } from './unfixed.ts';

/** For a session, which is never slow on so few lines. */
const TIME_LIMIT_MS = 600_000;

/** By report, how many questions were compared and how many rows their answers had. */
export const ANSWERED = new Map<string, { readonly questions: number; readonly rows: number }>();

/** @throws Difference */
export async function compareReports(played: Played, history: History): Promise<void> {
  if (isUnfixedWorld(played.world)) return;
  for (const filters of [...history.filters, ...played.published.map((asKnownOn) => ({ asKnownOn }))]) {
    const views = viewsOf({ history, world: played.world, publishedAt: played.publishedAt }, filters);
    const session = await openReportSession({
      databasePath: played.path,
      filters: filters,
      timeLimitMs: TIME_LIMIT_MS,
    }).catch(() => null);
    try {
      for (const question of history.questions)
        await compareReport(question, { filters, views, session, played });
    } finally {
      session?.close();
    }
  }
}

interface Asking {
  readonly filters: Filters;
  /** null: no partner is selected. */
  readonly views: readonly View[] | null;
  /** null: the product refuses the filters. */
  readonly session: ReportSession | null;
  readonly played: Played;
}

async function compareReport(question: Question, { filters, views, session, played }: Asking): Promise<void> {
  const { report, parameters, files = {} } = question;
  const answer = CATALOGUE[report]?.report;
  if (answer === undefined || isUnfixedQuestion(question, views)) return;
  const expected =
    views?.map((view) => ({ partnerId: view.partnerId, rows: answer(view, parameters, files) })) ?? null;
  const found = await ask(question, filters, { session, played });
  compare(
    `report ${report} ${JSON.stringify({ ...parameters, ...files })} with ${JSON.stringify(filters)}`,
    expected,
    found,
  );
  const before = ANSWERED.get(report) ?? { questions: 0, rows: 0 };
  const rows = expected?.reduce((sum, of) => sum + of.rows.length, 0) ?? 0;
  ANSWERED.set(report, { questions: before.questions + 1, rows: before.rows + rows });
}

/** Files of one's own belong to a session of their own. */
async function ask(
  { report, parameters, files }: Question,
  filters: Filters,
  { session, played }: Pick<Asking, 'session' | 'played'>,
): Promise<readonly ReportRow[] | null> {
  if (session === null || files === undefined)
    return session === null ? null : (await session.run(report, parameters)).rows;
  const tables: Record<string, string> = {};
  for (const [table, rows] of Object.entries(files)) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const path = join(played.test.dataDir, `${table}.csv`);
    const lines = [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))];
    await writeFile(path, `${lines.map((line) => line.join()).join('\n')}\n`);
    tables[table] = path;
  }
  return (
    await runReport({
      databasePath: played.path,
      name: report,
      parameters,
      filters,
      tables,
      timeLimitMs: TIME_LIMIT_MS,
    })
  ).rows;
}

interface OfPartner {
  readonly partnerId: string | null;
  readonly rows: readonly AnswerRow[];
}

/** null: refused */
function compare(
  what: string,
  expected: readonly OfPartner[] | null,
  found: readonly ReportRow[] | null,
): void {
  // No partner is selected, which a command refuses.
  if (expected === null) return;
  if (found === null) throw new Difference(`${what}: refused`);
  const rows = expected.flatMap(({ partnerId, rows }) =>
    rows.map(({ cells, order }) => ({
      text: textOf({ ...cells, partner_id: partnerId }),
      order: [partnerId, ...order] as Key,
    })),
  );
  const orders = new Map(rows.map(({ text, order }) => [text, order]));
  const [wanted, had] = [rows.map(({ text }) => text).sort(), found.map(textOf).sort()];
  const missing = without(wanted, had);
  const surplus = without(had, wanted);
  if (missing.length + surplus.length > 0) {
    throw new Difference(
      [`${what}: ${missing.length} missing, ${surplus.length} more`, ...differencesOf(missing, surplus)].join(
        '\n',
      ),
    );
  }
  const inOrder = found.map((row) => orders.get(textOf(row)) ?? []);
  const wrong = inOrder.findIndex((order, at) => at > 0 && compareKeys(inOrder[at - 1] ?? [], order) > 0);
  if (wrong >= 0)
    throw new Difference(`${what}: not in order: ${show(inOrder[wrong - 1])} before ${show(inOrder[wrong])}`);
}

/** Of the first rows: the nearest one that was found instead, as far as it differs. */
function differencesOf(missing: readonly string[], surplus: readonly string[]): string[] {
  const left = surplus.map((text) => JSON.parse(text) as ReportRow);
  const lines = missing.slice(0, 3).map((text) => {
    const row = JSON.parse(text) as ReportRow;
    const otherIn = (other: ReportRow): string[] =>
      [...new Set([...Object.keys(row), ...Object.keys(other)])].filter((name) => row[name] !== other[name]);
    const [nearest] = left.toSorted((one, other) => otherIn(one).length - otherIn(other).length);
    if (nearest === undefined) return `  missing ${text}`;
    const cells = otherIn(nearest).map(
      (name) => `${name}: expected ${String(row[name])}, was ${String(nearest[name])}`,
    );
    return `  ${text}\n    ${cells.join('\n    ')}`;
  });
  return lines.length > 0 ? lines : surplus.slice(0, 3).map((text) => `  more ${text}`);
}

const show = (order: Key | undefined): string => JSON.stringify(order?.map(String));

/** Elements of a sorted list that another one lacks, with how often they occur. */
function without(list: readonly string[], other: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of other) counts.set(text, (counts.get(text) ?? 0) + 1);
  return list.filter((text) => {
    const left = counts.get(text) ?? 0;
    counts.set(text, left - 1);
    return left <= 0;
  });
}

function textOf(row: ReportRow): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1))),
  );
}
