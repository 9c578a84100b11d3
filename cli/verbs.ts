/** All verbs with their summaries; the file of a verb is loaded when it is used. */

import type { Command } from 'commander';

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly section: 'Start here' | 'Run' | 'Read' | 'Recover' | 'Operate';
  readonly load: () => Promise<Command>;
}

export const VERBS: readonly Verb[] = [
  {
    name: 'demo',
    summary: 'run everything on this machine, with simulated faults, and prove the result',
    section: 'Start here',
    load: async () => (await import('./commands/demo.ts')).demoCommand(),
  },
  {
    name: 'init',
    summary: 'write a commented settings file',
    section: 'Start here',
    load: async () => (await import('./commands/init.ts')).initCommand(),
  },
  {
    name: 'config',
    summary: 'show the effective settings and the source of each',
    section: 'Start here',
    load: async () => (await import('./commands/config.ts')).configCommand(),
  },
  {
    name: 'doctor',
    summary: 'test every connection and explain each failure',
    section: 'Start here',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  },
  {
    name: 'up',
    summary: 'run the endpoint, the worker, the dashboard and Temporal',
    section: 'Run',
    load: async () => (await import('./commands/up.ts')).upCommand(),
  },
  {
    name: 'webhook',
    summary: 'run only the endpoint',
    section: 'Run',
    load: async () => (await import('./commands/webhook.ts')).webhookCommand(),
  },
  {
    name: 'worker',
    summary: 'run only the worker',
    section: 'Run',
    load: async () => (await import('./commands/worker.ts')).workerCommand(),
  },
  {
    name: 'dashboard',
    summary: 'run only the dashboard',
    section: 'Run',
    load: async () => (await import('./commands/dashboard.ts')).dashboardCommand(),
  },
  {
    name: 'temporal',
    summary: 'run only the embedded Temporal server',
    section: 'Run',
    load: async () => (await import('./commands/temporal.ts')).temporalCommand(),
  },
  {
    name: 'sandbox',
    summary: 'run and control a simulated billing service',
    section: 'Run',
    load: async () => (await import('./commands/sandbox.ts')).mountedSandbox(),
  },
  {
    name: 'report',
    summary: 'print a cost report: by tenant, carrier, zone and more',
    section: 'Read',
    load: async () => (await import('./commands/report.ts')).reportCommand(),
  },
  {
    name: 'statement',
    summary: 'write the monthly statement of a tenant',
    section: 'Read',
    load: async () => (await import('./commands/statement.ts')).statementCommand(),
  },
  {
    name: 'shipments',
    summary: 'list billed lines, filtered and sorted, with exact totals',
    section: 'Read',
    load: async () => (await import('./commands/shipments.ts')).shipmentsCommand(),
  },
  {
    name: 'disputes',
    summary: 'claim wrongly billed amounts and track credits',
    section: 'Read',
    load: async () => (await import('./commands/disputes.ts')).disputesCommand(),
  },
  {
    name: 'invoices',
    summary: 'list, show or retry invoices',
    section: 'Read',
    load: async () => (await import('./commands/invoices.ts')).invoicesCommand(),
  },
  {
    name: 'events',
    summary: 'list, show or replay received events',
    section: 'Read',
    load: async () => (await import('./commands/events.ts')).eventsCommand(),
  },
  {
    name: 'alerts',
    summary: 'list open alerts and explain how to fix them',
    section: 'Read',
    load: async () => (await import('./commands/alerts.ts')).alertsCommand(),
  },
  {
    name: 'sql',
    summary: 'query the published file, or open the DuckDB shell on it',
    section: 'Read',
    load: async () => (await import('./commands/sql.ts')).sqlCommand(),
  },
  {
    name: 'explain',
    summary: 'trace a tracking number to its line, file, hash, event and workflow run',
    section: 'Read',
    load: async () => (await import('./commands/explain.ts')).explainCommand(),
  },
  {
    name: 'export',
    summary: 'write all shipments and invoices as Parquet or CSV, by month',
    section: 'Read',
    load: async () => (await import('./commands/export.ts')).exportCommand(),
  },
  {
    name: 'mcp',
    summary: 'let an assistant query reports and shipments, read-only',
    section: 'Read',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand(),
  },
  {
    name: 'backfill',
    summary: 'fetch invoices by id that no event announced',
    section: 'Recover',
    load: async () => (await import('./commands/backfill.ts')).backfillCommand(),
  },
  {
    name: 'import',
    summary: 'load a CSV that was exported by hand',
    section: 'Recover',
    load: async () => (await import('./commands/import.ts')).importCommand(),
  },
  {
    name: 'quarantine',
    summary: 'list, show, requeue or discard refused items',
    section: 'Recover',
    load: async () => (await import('./commands/quarantine.ts')).quarantineCommand(),
  },
  {
    name: 'reconcile',
    summary: 'run the scheduled checks now',
    section: 'Recover',
    load: async () => (await import('./commands/reconcile.ts')).reconcileCommand(),
  },
  {
    name: 'schedule',
    summary: 'show, apply, pause, resume or trigger the schedule',
    section: 'Operate',
    load: async () => (await import('./commands/schedule.ts')).scheduleCommand(),
  },
  {
    name: 'verify',
    summary: 'check the warehouse against the archive',
    section: 'Operate',
    load: async () => (await import('./commands/verify.ts')).verifyCommand(),
  },
  {
    name: 'snapshot',
    summary: 'publish reports.duckdb now',
    section: 'Operate',
    load: async () => (await import('./commands/snapshot.ts')).snapshotCommand(),
  },
  {
    name: 'rebuild',
    summary: 'rebuild the warehouse from the archive alone',
    section: 'Operate',
    load: async () => (await import('./commands/rebuild.ts')).rebuildCommand(),
  },
  {
    name: 'purge',
    summary: 'remove old data that no report needs',
    section: 'Operate',
    load: async () => (await import('./commands/purge.ts')).purgeCommand(),
  },
  {
    name: 'hold',
    summary: 'exempt an invoice, a tenant or everything from purges',
    section: 'Operate',
    load: async () => (await import('./commands/hold.ts')).holdCommand(),
  },
  {
    name: 'audit',
    summary: 'show the audit log and verify that it is intact',
    section: 'Operate',
    load: async () => (await import('./commands/audit.ts')).auditCommand(),
  },
  {
    name: 'user-files',
    summary: 'rules, tables and other files that people make',
    section: 'Operate',
    load: async () => (await import('./commands/user-files.ts')).userFilesCommand(),
  },
  {
    name: 'completion',
    summary: 'print shell completion for bash, zsh or fish',
    section: 'Operate',
    load: async () => (await import('./commands/completion.ts')).completionCommand(VERBS),
  },
];
