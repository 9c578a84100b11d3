/** Every verb with its one line for `--help`; a verb's own file is loaded only when the verb is used. */

import type { Command } from 'commander';

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly section: 'Start here' | 'Run' | 'Look' | 'Recover' | 'Operate';
  readonly load: () => Promise<Command>;
}

export const VERBS: readonly Verb[] = [
  {
    name: 'demo',
    summary: 'an end-to-end run on this machine, with the faults that happen in practice, and the proof',
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
    summary: 'show the effective settings, and where each came from',
    section: 'Start here',
    load: async () => (await import('./commands/config.ts')).configCommand(),
  },
  {
    name: 'doctor',
    summary: 'test every connection, and say what to do about each failure',
    section: 'Start here',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  },
  {
    name: 'up',
    summary: 'run endpoint, worker, dashboard and Temporal together',
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
    summary: 'a simulated billing service to try things with',
    section: 'Run',
    load: async () => (await import('./commands/sandbox.ts')).mountedSandbox(),
  },
  {
    name: 'report',
    summary: 'run a report: cost by tenant, carrier, zone and more',
    section: 'Look',
    load: async () => (await import('./commands/report.ts')).reportCommand(),
  },
  {
    name: 'statement',
    summary: 'write what a tenant was billed in a month, to hand it out',
    section: 'Look',
    load: async () => (await import('./commands/statement.ts')).statementCommand(),
  },
  {
    name: 'shipments',
    summary: 'list the billed lines, filtered and sorted, with exact totals',
    section: 'Look',
    load: async () => (await import('./commands/shipments.ts')).shipmentsCommand(),
  },
  {
    name: 'disputes',
    summary: 'claim back what was billed wrongly, and follow what carriers credit',
    section: 'Look',
    load: async () => (await import('./commands/disputes.ts')).disputesCommand(),
  },
  {
    name: 'invoices',
    summary: 'list, show or retry invoices',
    section: 'Look',
    load: async () => (await import('./commands/invoices.ts')).invoicesCommand(),
  },
  {
    name: 'events',
    summary: 'list, show or replay what was received',
    section: 'Look',
    load: async () => (await import('./commands/events.ts')).eventsCommand(),
  },
  {
    name: 'alerts',
    summary: 'list what is wrong now, and explain what to do about it',
    section: 'Look',
    load: async () => (await import('./commands/alerts.ts')).alertsCommand(),
  },
  {
    name: 'sql',
    summary: 'run your own query on the published file, or open the DuckDB shell on it',
    section: 'Look',
    load: async () => (await import('./commands/sql.ts')).sqlCommand(),
  },
  {
    name: 'explain',
    summary: 'trace a tracking number to its line, file, hash, event and workflow run',
    section: 'Look',
    load: async () => (await import('./commands/explain.ts')).explainCommand(),
  },
  {
    name: 'export',
    summary: 'write all shipments and invoices as Parquet or CSV, by month',
    section: 'Look',
    load: async () => (await import('./commands/export.ts')).exportCommand(),
  },
  {
    name: 'mcp',
    summary: 'lets an assistant ask reports and shipments, read-only',
    section: 'Look',
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
    summary: 'load a CSV that a person exported by hand',
    section: 'Recover',
    load: async () => (await import('./commands/import.ts')).importCommand(),
  },
  {
    name: 'quarantine',
    summary: 'list, show, requeue or discard what was refused',
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
    summary: 'remove what is older than a date and not needed by any report',
    section: 'Operate',
    load: async () => (await import('./commands/purge.ts')).purgeCommand(),
  },
  {
    name: 'hold',
    summary: 'keep an invoice, a tenant or everything from being purged',
    section: 'Operate',
    load: async () => (await import('./commands/hold.ts')).holdCommand(),
  },
  {
    name: 'audit',
    summary: 'show who changed what, when and why, and prove that the log is intact',
    section: 'Operate',
    load: async () => (await import('./commands/audit.ts')).auditCommand(),
  },
  {
    name: 'completion',
    summary: 'print shell completion for bash, zsh or fish',
    section: 'Operate',
    load: async () => (await import('./commands/completion.ts')).completionCommand(),
  },
];
