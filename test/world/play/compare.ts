/** Asks the product and the model the same, and names the first difference. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportRow } from '../../../reports/cells.ts';
import { runCompared } from '../../../reports/compare.ts';
import type { ReportResult } from '../../../reports/report-result.ts';
import { openReportSession, type ReportSession, runReport } from '../../../reports/report-session.ts';
import { keepOpen } from '../../../reports/shared-instance.ts';
import type { Filters, History, Listing, Question } from '../history.ts';
import { type AnswerRow, compareKeys, type Key } from '../model/answer.ts';
import { CATALOGUE } from '../model/catalogue.ts';
import { comparedDays, comparedRows, pivotedRows } from '../model/comparison.ts';
import { compareText, parsed, sum } from '../model/exact.ts';
import { type Head, headOf } from '../model/head.ts';
import { type View, viewsOf, withSteps } from '../model/view.ts';
import { Difference, type Played } from './fast.ts';
import { compareClaims, compareStatements, compareWithEarlier } from './money.ts';
import { compareListing, compareTables, followLinks, readBack } from './surfaces.ts';

/** For a session, which is never slow on so few lines. */
const TIME_LIMIT_MS = 600_000;

/** After all clocks. */
const END = '9999-12-31T00:00:00.000Z';

/** By report, how many questions were compared and how many rows their answers had. */
export const ANSWERED = new Map<string, { readonly questions: number; readonly rows: number }>();

/** @throws Difference */
export async function compareReports(played: Played, history: History): Promise<void> {
  const isPunctual = isRightClock(history);
  await compareBooks(played, isPunctual);
  // While our clock was wrong, an earlier instant is not what it says.
  const earlier = isPunctual ? played.earlier.map(({ at }) => ({ asKnownOn: at })) : [];
  for (const filters of [...history.filters, ...earlier])
    await compareAnswers(played, { ...history, filters });
}

/** What is asked without a report. */
async function compareBooks(played: Played, isPunctual: boolean): Promise<void> {
  await compareStatements(played);
  if (isPunctual) await compareWithEarlier(played);
  await compareTables(played, isPunctual ? [null, END, ...played.instants] : [null, END]);
}

/** All questions without filters, and in turn some with them. @throws Difference */
export async function compareAll(
  played: Played,
  { questions, listings, turn }: Pick<History, 'questions' | 'listings'> & { readonly turn: number },
): Promise<void> {
  await compareBooks(played, true);
  const shown = new Set<string>();
  const isShown = ({ report, compare: period, pivot }: Question): boolean => {
    if (period !== undefined || pivot !== undefined || shown.has(report)) return false;
    shown.add(report);
    return true;
  };
  // Sessions of one file share what does not depend on their filters.
  const open = keepOpen(played.path);
  try {
    const asked = questions.filter(({ compare: period = 'none' }) => !RELATIVE.has(period));
    await compareAnswers(played, { filters: {}, questions: asked, listings, isShown });
    const [, at = END] = played.earlier.map((one) => one.at);
    for (const [round, filters] of [...FILTERS, { ...EARLIER, asKnownOn: at }].entries()) {
      const inTurn = questions.filter(
        (one, place) => ALWAYS.has(JSON.stringify(one)) || (place + turn) % TURNS === round,
      );
      await compareAnswers(played, { filters, questions: inTurn, isShown: () => false });
    }
  } finally {
    open.close();
  }
}

/** To a period that the filters name. */
const RELATIVE = new Set(['previous', 'last-year']);
/** Asked with each filter, so that each head and each name is compared. */
const ALWAYS = new Set(['tenants', 'waiting'].map((report) => JSON.stringify({ report, parameters: {} })));
/** More than there are filters, since asking all with each would take minutes. */
const TURNS = 12;
const FILTERS: readonly Filters[] = [
  { from: '2026-01-01', to: '2026-01-31', by: 'invoice-date', level: 'all' },
  { from: '2026-01-31', to: '2026-02-28', tenants: ['Acme'], currencies: ['usd', 'eur'] },
  { zones: ['5', ''], level: 'partner' },
];
const EARLIER: Filters = { carriers: ['ups'], to: '2026-02-28' };

interface Round {
  readonly filters: Filters;
  readonly questions: readonly Question[];
  readonly listings?: readonly Listing[];
  /** Whether an answer is also read back from its formats, and its links are followed, which takes longer than the answer. */
  readonly isShown?: (question: Question) => boolean;
}

/** @throws Difference */
export async function compareAnswers(played: Played, round: Round): Promise<void> {
  const { filters, questions, listings = [], isShown = () => true } = round;
  const views = viewsOf(played, filters);
  // No partner is selected, which a command refuses.
  if (views === null) return;
  const sessions = new Map<string, Promise<ReportSession>>();
  const sessionOf = (of: Filters): Promise<ReportSession> => {
    const key = JSON.stringify(of);
    const session =
      sessions.get(key) ??
      openReportSession({ databasePath: played.path, filters: of, timeLimitMs: TIME_LIMIT_MS });
    sessions.set(key, session);
    return session;
  };
  try {
    for (const question of questions)
      await compareReport(question, { filters, views, sessionOf, played, isShown: isShown(question) });
    for (const listing of listings) await compareListing(listing, views, await sessionOf(filters));
  } finally {
    for (const session of sessions.values()) (await session.catch(() => null))?.close();
  }
}

function isRightClock({ invoices }: History): boolean {
  return invoices.every(({ deeds }) => deeds.every(({ clockMs = 0 }) => clockMs === 0));
}

interface Asking {
  readonly filters: Filters;
  readonly views: readonly View[];
  readonly sessionOf: (filters: Filters) => Promise<ReportSession>;
  readonly played: Played;
  readonly isShown: boolean;
}

async function compareReport(
  question: Question,
  { filters, views, sessionOf, played, isShown }: Asking,
): Promise<void> {
  const what = `report ${JSON.stringify(question)} with ${JSON.stringify(filters)}`;
  const session = await sessionOf(filters).catch((error: Error) => {
    throw new Difference(`${what}: refused: ${error.message}`);
  });
  const { report, parameters, compare: period, pivot } = question;
  const expected = answersOf(question, views);
  if (period === undefined && pivot === undefined) {
    const tables = await writeFiles(question, played);
    const result = await ask(question, filters, { session, played, tables });
    compare(what, limited(expected, parameters.limit), result.rows);
    compareHead(what, headOf(report, views, played.publishedAt), result);
    compareWhole(what, expected, result);
    const before = ANSWERED.get(report) ?? { questions: 0, rows: 0 };
    ANSWERED.set(report, { questions: before.questions + 1, rows: before.rows + result.rows.length });
    if (Object.keys(filters).length === 0)
      await compareClaims(question, result, { databasePath: played.path, tables });
    if (!isShown) return;
    await readBack(result, what);
    return followLinks(result, what, filters, sessionOf);
  }
  const request = {
    databasePath: played.path,
    name: report,
    filters,
    parameters,
    timeLimitMs: TIME_LIMIT_MS,
  };
  if (period !== undefined) {
    const days = comparedDays(period, filters);
    if (days === null) return;
    const answered = (await runCompared(request, { compare: period })).rows;
    if (report === 'bridge') {
      const { from: second_from, to: second_to, ...others } = filters;
      const second = { ...(second_from && { second_from }), ...(second_to && { second_to }) };
      const all = { ...parameters, first_from: days.from, first_to: days.to, ...second };
      const sides = answersOf({ report, parameters: all }, viewsOf(played, others) ?? []);
      return compare(what, sides, answered);
    }
    const then = answersOf(question, viewsOf(played, { ...filters, ...days }) ?? []);
    const keys = keysOf(report, parameters);
    const sides = expected.map(({ partnerId, rows }) => ({
      partnerId,
      rows: comparedRows(rows, then.find((one) => one.partnerId === partnerId)?.rows ?? [], keys),
    }));
    return compare(what, sides, answered);
  }
  if (pivot === undefined) return;
  const keys = keysOf(report, parameters).filter((name) => name !== pivot && name !== 'tenant_id');
  const all = expected.flatMap(({ rows }) => rows);
  const values = [...new Set(all.map(({ cells }) => cells[pivot] ?? null))];
  const taken = [...Object.keys(all[0]?.cells ?? {}), 'partner_id'];
  const sides = expected.map(({ partnerId, rows }) => ({
    partnerId,
    rows: pivotedRows(rows, { across: pivot, keys, taken, values }),
  }));
  return compare(what, sides, (await runCompared(request, { pivot })).rows);
}

function answersOf(
  { report, parameters, files = {} }: Question,
  views: readonly View[],
): readonly OfPartner[] {
  const answer = CATALOGUE[report]?.report;
  return views.map((view) => {
    const rated = files.weights === undefined ? view : withSteps(view, files.weights);
    return { partnerId: view.partnerId, rows: answer?.(rated, parameters, files) ?? [] };
  });
}

/** The columns that name a row: those that `grain` names, in the order of the report. */
function keysOf(report: string, { by = 'tenant+carrier' }: Question['parameters']): readonly string[] {
  const names = {
    tenants: ['tenant', 'tenant_id'],
    carriers: ['carrier'],
    zones: ['carrier_zone'],
    services: ['carrier', 'service_level'],
  };
  const own =
    names[report as keyof typeof names] ??
    by
      .split('+')
      .map((name) => (name === 'service' ? 'service_level' : name === 'weight' ? 'weight_break' : name));
  return [...own, 'currency_code'];
}

/** @returns paths by table */
async function writeFiles({ files = {} }: Question, played: Played): Promise<Record<string, string>> {
  const tables: Record<string, string> = {};
  for (const [table, rows] of Object.entries(files)) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const path = join(played.test.dataDir, `${table}.csv`);
    const lines = [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))];
    await writeFile(path, `${lines.map((line) => line.join()).join('\n')}\n`);
    tables[table] = path;
  }
  return tables;
}

interface Asked {
  readonly session: ReportSession;
  readonly played: Played;
  readonly tables: Readonly<Record<string, string>>;
}

/** Files of one's own belong to a session of their own. */
function ask(
  { report, parameters, files }: Question,
  filters: Filters,
  { session, played, tables }: Asked,
): Promise<ReportResult> {
  if (files === undefined) return session.run(report, parameters);
  const request = { databasePath: played.path, name: report, parameters, filters, tables };
  return runReport({ ...request, timeLimitMs: TIME_LIMIT_MS });
}

interface OfPartner {
  readonly partnerId: string | null;
  readonly rows: readonly AnswerRow[];
}

/** Of each partner and currency the first rows. */
function limited(sides: readonly OfPartner[], limit: string | undefined): readonly OfPartner[] {
  if (limit === undefined) return sides;
  return sides.map(({ partnerId, rows }) => ({
    partnerId,
    rows: [...Map.groupBy(rows, ({ cells }) => cells.currency_code).values()].flatMap((of) =>
      of.toSorted((one, other) => compareKeys(one.order, other.order)).slice(0, Number(limit)),
    ),
  }));
}

/** Numbers and sums of all rows, also of those that a limit leaves out. */
function compareWhole(
  what: string,
  sides: readonly OfPartner[],
  { head, rows, whole = [] }: ReportResult,
): void {
  const found = sides.reduce((count, of) => count + of.rows.length, 0);
  if (head.found !== found || head.rows !== rows.length || found > rows.length !== whole.length > 0)
    throw new Difference(`${what}: ${head.rows} of ${head.found} rows, expected of ${found}`);
  for (const { partner_id: partnerId, currency_code: currency, rows: count, ...sums } of whole) {
    const of = sides
      .filter((side) => side.partnerId === partnerId)
      .flatMap((side) => side.rows.filter(({ cells }) => cells.currency_code === currency));
    const wanted = Object.keys(sums).map((name) =>
      sum(of.map(({ cells }) => (cells[name] === null ? 0n : parsed(String(cells[name]))))),
    );
    if (
      of.length !== Number(count) ||
      wanted.some((size, at) => size !== parsed(String(Object.values(sums)[at] ?? '0')))
    )
      throw new Difference(`${what}: all rows in ${currency} are ${JSON.stringify(whole)}`);
  }
}

/** Notes on files of one's own, on exchange rates and on compared periods are not compared; those on names of filters follow from what these name. */
const OTHER_NOTE =
  /^(?:The|No) (?:partner|tenant|carrier|zone|currency)\b|^Still open: |^Incomplete: |^\d+ of \d+ rows: |^(?:Partner \S+: )?(?:In [A-Z]{3}: |Not in any amount)/;

function compareHead(what: string, expected: Head, { head, missing = [] }: ReportResult): void {
  const others = new Set([...missing, ...head.files]);
  const notes = head.notes.filter((note) => !others.has(note) && !OTHER_NOTE.test(note));
  const { level, shipments, weighed, provedPercent, completeness } = head;
  const stated = Object.fromEntries(Object.entries(completeness.stated).sort());
  const named = head.matches.map(({ filter, given, matched }) => ({
    ...{ filter, given, matched: matched.toSorted(compareText) },
  }));
  for (const { filter, given, matched } of head.matches) {
    const said = head.notes
      .filter((note) => note.startsWith(`The ${filter} "${given}" is `))
      .map((note) => note.slice(0, -1));
    const isSaid = matched.length > 0 && (matched.length > 1 || matched[0] !== given);
    const name = matched.map((one) => one || '(none)').join(' and ');
    if (said.join() !== (isSaid ? `The ${filter} "${given}" is ${name}` : ''))
      throw new Difference(`${what}: of ${filter} ${given} it is said: ${said}`);
  }
  const found = { level, shipments, weighed, ...completeness, stated, provedPercent, named, notes };
  for (const [name, value] of Object.entries(expected)) {
    const was = found[name as keyof Head];
    if (JSON.stringify(was) !== JSON.stringify(value))
      throw new Difference(
        `${what}: ${name} of the head: expected ${JSON.stringify(value)}\n  was ${JSON.stringify(was)}`,
      );
  }
}

function compare(what: string, expected: readonly OfPartner[], found: readonly ReportRow[]): void {
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
