/** The report for people: a line per rule under its section, then what the open questions turned out to be. */
import type { Finding } from './findings.ts';
import type { Row, Verdict } from './rule.ts';

export interface Report {
  /** Base URL of the service that was checked. */
  readonly service: string;
  readonly rows: readonly Row[];
  readonly findings: readonly Finding[];
}

const MARKS: Readonly<Record<Verdict, string>> = { pass: 'pass', fail: 'FAIL', skipped: 'skip' };
const COLORS: Readonly<Record<Verdict, string>> = { pass: '32', fail: '1;31', skipped: '33' };

export interface PrintOptions {
  readonly isColored: boolean;
}

export function renderReport({ rows, findings, service }: Report, { isColored }: PrintOptions): string {
  const widest = Math.max(0, ...rows.map(({ rule }) => rule.length));
  const paint = (text: string, code: string) => (isColored ? `\u001b[${code}m${text}\u001b[0m` : text);
  const lines = rows.map(({ section, rule, verdict, seen }) => {
    const mark = paint(MARKS[verdict], COLORS[verdict]);
    return `${mark}  ${section.padEnd(4)} ${rule.padEnd(widest)}  ${paint(oneLine(seen), '2')}`;
  });
  const open = findings.flatMap(({ section, question, found, reason }) => [
    `${section.padEnd(4)} ${question}`,
    `     ${paint(oneLine(found ?? `(${reason})`), '2')}`,
  ]);
  return [
    ...lines,
    '',
    paint('What the shapes that the specification does not show turned out to be', '1'),
    ...open,
    '',
    `${summary(rows)} (${service})`,
    '',
  ].join('\n');
}

export function summary(rows: readonly Row[]): string {
  const count = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict).length;
  return `${rows.length} rules: ${count('pass')} hold, ${count('fail')} broken, ${count('skipped')} skipped`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}
