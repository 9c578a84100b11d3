import { Help } from 'commander';
import { hasColors } from '../../lib/runtime.ts';
import { grouped } from '../../reports/render/labels.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { counted, createOutput, type Progress } from '../terminal/output.ts';
import { paint } from '../terminal/table.ts';
import type { Outcome } from './outcomes.ts';
import type { ProvedReport } from './proof.ts';

export interface Narrator {
  chapter(title: string): void;
  done(what: string, detail: string): void;
  progress(what: string): Progress;
}

export function createNarrator({ quiet }: { readonly quiet: boolean }): Narrator {
  const output = createOutput({ form: 'table', quiet });
  return {
    chapter: (title) => output.note(`\n${paint('bold', title, process.stderr)}`),
    done: (what, detail) =>
      output.note(`  ${paint('green', '✓', process.stderr)} ${what.padEnd(18)} ${detail}`),
    progress: (what) => output.progress(what),
  };
}

export function renderOutcomes(outcomes: readonly Outcome[]): string {
  const width = Math.max(...outcomes.map(({ kind }) => kind.length));
  const lines = outcomes.map(({ kind, account, isProved }) => {
    const text = wrapped(account, width + 6).replaceAll('\n', `\n${' '.repeat(width + 6)}`);
    return `  ${symbol(isProved)} ${paint('bold', kind.padEnd(width))}  ${text}`;
  });
  return [paint('bold', 'Faults and their outcomes'), ...lines].join('\n');
}

export async function renderReports(proved: readonly ProvedReport[]): Promise<string> {
  const parts: string[] = [];
  for (const { report, level } of proved) {
    if (level !== 'tenant') continue;
    const { body } = await renderReport(report, 'table', {
      width: process.stdout.isTTY === true ? process.stdout.columns : undefined,
      color: hasColors(process.stdout),
    });
    parts.push(`${paint('bold', report.title)}\n${String(body).trimEnd()}`);
  }
  return parts.join('\n\n');
}

export function renderProof(proved: readonly ProvedReport[]): string {
  const lines = proved.flatMap(({ name, level, rows, cells, differences, billed }) => {
    const report = level === 'tenant' ? `report ${name}` : `report ${name} --level ${level}`;
    const sums = [...billed].map(([currency, cost]) => `${grouped(cost)} ${currency}`).join(' and ');
    const found =
      differences.length === 0
        ? `${String(cells).padStart(3)} of ${cells} values equal`
        : counted(differences.length, 'difference');
    const line = `  ${symbol(differences.length === 0)} ${paint('bold', report.padEnd(30))}  ${found} in ${counted(rows, 'row')}; billed ${sums}`;
    return [line, ...differences.slice(0, 5).map((difference) => `      ${difference}`)];
  });
  const cells = proved.reduce((sum, each) => sum + each.cells, 0);
  const wrong = proved.reduce((sum, { differences }) => sum + differences.length, 0);
  const verdict =
    wrong === 0
      ? paint('green', `  Proved: ${cells} of ${cells} values equal what the service billed.`)
      : paint('red', `  Not proved: ${counted(wrong, 'value')} differ.`);
  const title = "The proof: every value against the service's own rows, to the fourth decimal";
  return [paint('bold', title), ...lines, verdict].join('\n');
}

function symbol(isGood: boolean): string {
  return isGood ? paint('green', '✓') : paint('red', '✗');
}

function wrapped(text: string, indent: number): string {
  if (process.stdout.isTTY !== true) return text;
  return new Help().boxWrap(text, Math.max(40, process.stdout.columns - indent - 1));
}
