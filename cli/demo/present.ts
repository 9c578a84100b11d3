/** How the demo looks: the first thing of billsync that most people see. */

import { hasColors } from '../../lib/runtime.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { CLEAR } from '../terminal/output.ts';
import { paint } from '../terminal/table.ts';
import type { Outcome } from './outcomes.ts';
import type { ProvedReport } from './proof.ts';

const isTerminal = process.stderr.isTTY === true;
const LINE_EVERY_MS = 3_000;

export interface Narrator {
  /** A new chapter. */
  chapter(title: string): void;
  /** Something is done. */
  done(what: string, detail: string): void;
  /** Something goes on; on a terminal the line is written over, elsewhere a line comes every few seconds. */
  progress(text: string): void;
}

/** Words go to stderr; what the demo found out goes to stdout. */
export function createNarrator(options: { readonly quiet: boolean }): Narrator {
  let isOpen = false;
  let last = '';
  let printedAt = performance.now();
  const clear = (): void => {
    if (isOpen) process.stderr.write(CLEAR);
    isOpen = false;
  };
  const print = (line: string): void => {
    clear();
    if (!options.quiet) process.stderr.write(`${line}\n`);
  };
  return {
    chapter: (title) => print(`\n${paint('bold', title, process.stderr)}`),
    done: (what, detail) => print(`  ${paint('green', '✓', process.stderr)} ${what.padEnd(18)} ${detail}`),
    progress(text) {
      if (options.quiet || text === last) return;
      last = text;
      if (!isTerminal) {
        if (performance.now() - printedAt < LINE_EVERY_MS) return;
        printedAt = performance.now();
        process.stderr.write(`  … ${text}\n`);
        return;
      }
      process.stderr.write(`${CLEAR}  ${paint('dim', `… ${text}`, process.stderr)}`);
      isOpen = true;
    },
  };
}

export function renderOutcomes(outcomes: readonly Outcome[]): string {
  const width = Math.max(...outcomes.map(({ kind }) => kind.length));
  const lines = outcomes.map(({ kind, account, isProved }) => {
    const [first = '', ...more] = wrapped(account, textWidth(width));
    const rest = more.map((line) => `${' '.repeat(width + 6)}${line}`);
    return [`  ${symbol(isProved)} ${paint('bold', kind.padEnd(width))}  ${first}`, ...rest].join('\n');
  });
  return [title('Faults and their outcomes'), ...lines].join('\n');
}

export async function renderReports(proved: readonly ProvedReport[]): Promise<string> {
  const parts: string[] = [];
  for (const { report, level } of proved) {
    if (level !== 'tenant') continue;
    const { body } = await renderReport(report, 'table', {
      width: process.stdout.isTTY === true ? process.stdout.columns : undefined,
      color: hasColors(process.stdout),
    });
    parts.push(`${title(report.title)}\n${String(body).trimEnd()}`);
  }
  return parts.join('\n\n');
}

export function renderProof(proved: readonly ProvedReport[]): string {
  const lines = proved.flatMap(({ name, level, rows, cells, differences, billed }) => {
    const what = level === 'tenant' ? `report ${name}` : `report ${name} --level ${level}`;
    const sums = [...billed].map(([currency, cost]) => `${grouped(cost)} ${currency}`).join(' and ');
    const found =
      differences.length === 0
        ? `${String(cells).padStart(3)} of ${cells} values equal`
        : `${differences.length} differences`;
    const line = `  ${symbol(differences.length === 0)} ${paint('bold', what.padEnd(30))}  ${found} in ${rows} ${rows === 1 ? 'row' : 'rows'}; billed ${sums}`;
    return [line, ...differences.slice(0, 5).map((difference) => `      ${difference}`)];
  });
  return [
    title("The proof: every value against the service's own rows, to the fourth decimal"),
    ...lines,
    verdict(proved),
  ].join('\n');
}

function verdict(proved: readonly ProvedReport[]): string {
  const cells = proved.reduce((sum, { cells: each }) => sum + each, 0);
  const wrong = proved.reduce((sum, { differences }) => sum + differences.length, 0);
  return wrong === 0
    ? paint('green', `  Proved: ${cells} of ${cells} values equal what the service billed.`)
    : paint('red', `  Not proved: ${wrong} values differ.`);
}

/** 1234567.8900 as 1,234,567.8900, as the tables have it. */
function grouped(decimal: string): string {
  return decimal.replace(/\d(?=(\d{3})+\.)/g, '$&,');
}

function title(text: string): string {
  return paint('bold', text);
}

function symbol(isGood: boolean): string {
  return isGood ? paint('green', '✓') : paint('red', '✗');
}

/** Lines are wrapped for eyes, not for pipes: elsewhere than on a terminal one thing stays one line. */
function textWidth(indent: number): number {
  return process.stdout.isTTY === true
    ? Math.max(40, process.stdout.columns - indent - 7)
    : Number.POSITIVE_INFINITY;
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
