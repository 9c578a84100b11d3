/** Rules and dashboard ask for metrics that there are, link to pages that there are, and fire for their fault alone. */

import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ALERT_NAMES, anchorOf } from '../../lib/alerts/runbook/runbook.ts';
import { METRICS } from '../../lib/metrics.ts';
import { grafanaDashboard } from '../../scripts/reference/grafana-dashboard.ts';
import { promtool } from '../support/tools/promtool.ts';

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
  test('are rules, and each fires for its fault and for no other', async () => {
    for (const args of [
      ['check', 'rules', 'rules.yml'],
      ['check', 'config', 'prometheus.yml'],
      ['test', 'rules', 'rules.test.yml'],
    ]) {
      const { exitCode, said } = await promtool(args, { cwd: folder });
      expect(exitCode, said).toBe(0);
    }
    const tried = await readFile(join(folder, 'rules.test.yml'), 'utf8');
    expect(rules.filter(({ alert }) => !tried.includes(alert))).toEqual([]);
  });

  test('ask only for metrics and labels that billsync has', () => {
    expect(rules.flatMap(({ expr }) => unknownIn(expr))).toEqual([]);
    expect(unknownIn('billsync_nothing{a="b"} + billsync_invoices{tenant="x"}')).toEqual([
      'nothing',
      'invoices{tenant}',
    ]);
  });

  test('link each to its page of the runbook', () => {
    const anchors = new Set([...ALERT_NAMES.map(anchorOf), '{{ reReplaceAll "/" "-" $labels.alert }}']);
    for (const { alert, annotations } of rules) {
      const [page, anchor = ''] = annotations.runbook_url.split('#');
      expect([page, anchors.has(anchor)], alert).toEqual(['http://{{ $labels.instance }}/runbook', true]);
    }
  });
});

describe('the dashboard for Grafana', () => {
  test('is what `npm run reference` writes today', async () => {
    expect(await readFile(join(root, 'deploy', 'grafana', 'billsync.json'), 'utf8')).toBe(grafanaDashboard());
  });

  test('asks in expressions that Prometheus reads, for metrics that billsync has', async () => {
    expect(expressions.length).toBeGreaterThan(25);
    expect(expressions.flatMap(unknownIn)).toEqual([]);
    const path = join(await mkdtemp(join(tmpdir(), 'billsync-grafana-')), 'rules.yml');
    const recorded = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
    await writeFile(path, JSON.stringify({ groups: [{ name: 'panels', rules: recorded }] }));
    const { exitCode, said } = await promtool(['check', 'rules', path]);
    expect(exitCode, said).toBe(0);
  });

  test('shows each metric of ours, and no panel covers another', () => {
    const text = expressions.join('\n') + rules.map(({ expr }) => expr).join('\n');
    const unseen = Object.keys(METRICS).filter((name) => !text.includes(`billsync_${name}`));
    // What a person looks up and no line of a chart helps with.
    expect(unseen).toEqual([
      'forwarded_total',
      'quarantined_total',
      'webhook_connections_ended_total',
      'shipments',
      'load_batch_files',
      'publication_seconds',
      'publication_sequence',
      'publication_failures_total',
      'alerts_total',
      'build_info',
    ]);
    const taken = new Set<string>();
    for (const { id, gridPos } of dashboard.panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x}/${y}`), `panel ${id}`).toBe(false);
          taken.add(`${x}/${y}`);
        }
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});
