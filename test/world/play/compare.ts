/** Asks the product and the model the same, and names the first difference. */

import type { ReportRow } from '../../../reports/cells.ts';
import { openReportSession, type ReportSession } from '../../../reports/report-session.ts';
import type { Filters, History } from '../history.ts';
import { type AnswerRow, compareKeys, type Key, type Parameters } from '../model/answer.ts';
import { CATALOGUE } from '../model/catalogue.ts';
import { viewsOf } from '../model/view.ts';
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
      filters: toProduct(filters),
      timeLimitMs: TIME_LIMIT_MS,
    }).catch(() => null);
    try {
      for (const { report, parameters } of history.questions) {
        const what = `report ${report} ${JSON.stringify(parameters)} with ${JSON.stringify(filters)}`;
        const answer = CATALOGUE[report]?.report;
        if (answer === undefined || isUnfixedQuestion({ report, parameters }, views)) continue;
        const expected =
          views?.map((view) => ({ partnerId: view.partnerId, rows: answer(view, parameters) })) ?? null;
        compare(what, expected, await ask(session, report, parameters));
        const before = ANSWERED.get(report) ?? { questions: 0, rows: 0 };
        const rows = expected?.reduce((sum, of) => sum + of.rows.length, 0) ?? 0;
        ANSWERED.set(report, { questions: before.questions + 1, rows: before.rows + rows });
      }
    } finally {
      session?.close();
    }
  }
}

function toProduct(filters: Filters): Filters {
  return filters;
}

async function ask(
  session: ReportSession | null,
  name: string,
  parameters: Parameters,
): Promise<readonly ReportRow[] | null> {
  return session === null ? null : (await session.run(name, parameters)).rows;
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
  if (expected === null) {
    // A report that matches no filter is empty, and a command refuses it.
    if (found !== null && found.length > 0)
      throw new Difference(`${what}: matches nothing, and has ${found.length} rows`);
    return;
  }
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
