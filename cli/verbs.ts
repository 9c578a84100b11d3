import type { Command } from 'commander';
import type { VerbEntry } from './verb.ts';

interface CommandFile {
  readonly command: (verbs: readonly VerbEntry[]) => Command;
}

const SECTIONS: Readonly<
  Record<string, Readonly<Record<string, readonly [string, () => Promise<CommandFile>]>>>
> = {
  'Start here': {
    demo: [
      'run everything on this machine, with simulated faults, and prove the result',
      () => import('./commands/demo.ts'),
    ],
    init: ['write a commented settings file', () => import('./commands/init.ts')],
    config: ['show the effective settings and the source of each', () => import('./commands/config.ts')],
    doctor: ['test every connection and explain each failure', () => import('./commands/doctor.ts')],
  },
  Run: {
    up: ['run the endpoint, the worker, the dashboard and Temporal', () => import('./commands/up.ts')],
    webhook: ['run only the endpoint', () => import('./commands/webhook.ts')],
    worker: ['run only the worker', () => import('./commands/worker.ts')],
    dashboard: ['run only the dashboard', () => import('./commands/dashboard.ts')],
    temporal: ['run only the embedded Temporal server', () => import('./commands/temporal.ts')],
    sandbox: ['run and control a simulated billing service', () => import('./commands/sandbox.ts')],
  },
  Read: {
    report: ['print a cost report: by tenant, carrier, zone and more', () => import('./commands/report.ts')],
    statement: ['write the monthly statement of a tenant', () => import('./commands/statement.ts')],
    shipments: [
      'list billed lines, filtered and sorted, with exact totals',
      () => import('./commands/shipments.ts'),
    ],
    disputes: ['claim wrongly billed amounts and track credits', () => import('./commands/disputes.ts')],
    invoices: ['list, show or retry invoices', () => import('./commands/invoices.ts')],
    events: ['list, show or replay received events', () => import('./commands/events.ts')],
    alerts: ['list open alerts and explain how to fix them', () => import('./commands/alerts.ts')],
    sql: ['query the published file, or open the DuckDB shell on it', () => import('./commands/sql.ts')],
    explain: [
      'trace a tracking number to its line, file, hash, event and workflow run',
      () => import('./commands/explain.ts'),
    ],
    export: [
      'write all shipments and invoices as Parquet or CSV, by month',
      () => import('./commands/export.ts'),
    ],
    mcp: ['let an assistant query reports and shipments, read-only', () => import('./commands/mcp.ts')],
  },
  Recover: {
    backfill: ['fetch invoices by id that no event announced', () => import('./commands/backfill.ts')],
    import: ['load a CSV that was exported by hand', () => import('./commands/import.ts')],
    quarantine: ['list, show, requeue or discard refused items', () => import('./commands/quarantine.ts')],
    reconcile: ['run the scheduled checks now', () => import('./commands/reconcile.ts')],
  },
  Operate: {
    schedule: ['show, apply, pause, resume or trigger the schedule', () => import('./commands/schedule.ts')],
    verify: ['check the warehouse against the archive', () => import('./commands/verify.ts')],
    snapshot: ['publish reports.duckdb now', () => import('./commands/snapshot.ts')],
    rebuild: ['rebuild the warehouse from the archive alone', () => import('./commands/rebuild.ts')],
    purge: ['remove old data that no report needs', () => import('./commands/purge.ts')],
    hold: ['exempt an invoice, a tenant or everything from purges', () => import('./commands/hold.ts')],
    archive: ['copy the archive to a folder or a bucket', () => import('./commands/archive.ts')],
    audit: ['show the audit log and verify that it is intact', () => import('./commands/audit.ts')],
    'user-files': [
      'rules, tables and other files that people make',
      () => import('./commands/user-files.ts'),
    ],
    completion: ['print shell completion for bash, zsh or fish', () => import('./commands/completion.ts')],
  },
};

export const VERBS: readonly VerbEntry[] = Object.entries(SECTIONS).flatMap(([section, commands]) =>
  Object.entries(commands).map(([name, [summary, load]]) => ({
    ...{ section, name, summary },
    load: async () => (await load()).command(VERBS),
  })),
);
