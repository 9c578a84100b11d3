import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { METRICS } from '../../lib/metrics.ts';
import { grafanaDashboard } from '../../scripts/reference/grafana-dashboard.ts';
import { testFolder } from '../support/folders.ts';
import { promtool } from '../support/tools/installed-tools.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'deploy', 'prometheus');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
const rules = (
  parse(await readFile(join(folder, 'rules.yml'), 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(grafanaDashboard()) as {
  panels: {
    id: number;
    gridPos: { h: number; w: number; x: number; y: number };
    targets?: { expr: string }[];
  }[];
};
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Names and labels in an expression that billsync does not have. */
function unknownIn(expression: string): string[] {
  return [...expression.matchAll(/\bbillsync_(\w+)(?:\{([^}]*)\})?/g)].flatMap(
    ([, name = '', selector = '']) => {
      const metric = METRICS[name.replace(/_bucket$/, '') as keyof typeof METRICS];
      if (metric === undefined || (metric.kind === 'histogram') !== name.endsWith('_bucket')) return [name];
      const labels = new Set<string>([...metric.labels, 'instance', 'role', 'job']);
      return [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].flatMap(([, label = '']) =>
        labels.has(label) ? [] : [`${name}{${label}}`],
      );
    },
  );
}

describe('the rules for Prometheus', () => {
  test('are valid, and each fires for its fault only', async () => {
    for (const args of [
      ['check', 'rules', 'rules.yml'],
      ['check', 'config', 'prometheus.yml'],
      ['test', 'rules', 'rules.test.yml'],
    ]) {
      const { exitCode, output } = await promtool(args, { cwd: folder });
      expect(exitCode, output).toBe(0);
    }
    const tried = await readFile(join(folder, 'rules.test.yml'), 'utf8');
    expect(rules.filter(({ alert }) => !tried.includes(alert))).toEqual([]);
  });

  test('use existing metrics and labels only', () => {
    expect(rules.flatMap(({ expr }) => unknownIn(expr))).toEqual([]);
    expect(unknownIn('billsync_nothing{a="b"} + billsync_invoices{tenant="x"}')).toEqual([
      'nothing',
      'invoices{tenant}',
    ]);
  });
});

describe('the dashboard for Grafana', () => {
  test('uses valid expressions over existing metrics', async () => {
    expect(expressions.length).toBeGreaterThan(25);
    expect(expressions.flatMap(unknownIn)).toEqual([]);
    const path = join(testFolder(), 'rules.yml');
    const recorded = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
    await writeFile(path, JSON.stringify({ groups: [{ name: 'panels', rules: recorded }] }));
    const { exitCode, output } = await promtool(['check', 'rules', path]);
    expect(exitCode, output).toBe(0);
  });
});
