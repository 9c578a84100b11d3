/** Commands that change something are noted in the audit log, before they begin and after (lib/audit-log.ts). */

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { AuditLog, AuditNote } from '../lib/audit-log.ts';
import type { Settings } from '../lib/config/settings.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import { createScrub } from '../lib/log/scrub.ts';
import { userName } from '../lib/runtime.ts';
import { checkEnvironment, contextOf } from './verb.ts';

/** What changes invoices, what is kept, or what is done by itself. Looking, checking and publishing do not. */
export const AUDITED: ReadonlySet<string> = new Set([
  ...['invoices retry', 'invoices restore', 'invoices use-version'],
  ...['quarantine requeue', 'quarantine discard'],
  ...['backfill', 'import', 'rebuild', 'events replay', 'temporal reset'],
  ...['disputes open', 'disputes state', 'disputes note'],
  ...['statement', 'purge', 'hold add', 'hold lift', 'alerts acknowledge', 'alerts quiet'],
  ...['schedule apply', 'schedule pause', 'schedule resume', 'schedule trigger'],
]);
/** A file of a hundred thousand ids is told by its name. */
const MOST_TARGETS = 100;

interface Flags {
  readonly dryRun?: boolean;
  readonly reason?: string;
  readonly note?: string;
  readonly ids?: string;
  readonly follow?: string;
  readonly control?: string;
  readonly before?: string;
  readonly all?: boolean;
  readonly invoice?: string;
  /** Several, of a statement. */
  readonly tenant?: string | readonly string[];
  readonly period?: string;
  readonly final?: boolean;
}

export interface AuditedRun {
  /** Notes how it ended; does nothing for a command that is not audited. @param error what it threw, or null */
  end(error: unknown): Promise<void>;
}

/** @param program the root of the commands, before it is parsed */
export function auditActions(program: Command): AuditedRun {
  outcome = '';
  let note: Pick<AuditNote, 'by' | 'via' | 'action' | 'target' | 'reason'> | null = null;
  let settings: Settings | null = null;
  let began: number | null = null;
  program.hook('preAction', async (_program, command) => {
    const action = nameOf(command);
    const flags = command.opts<Flags>();
    const isLooking =
      flags.dryRun === true ||
      (flags.follow !== undefined && flags.control === undefined) ||
      (action === 'statement' && flags.final !== true);
    if (!AUDITED.has(action) || isLooking) return;
    settings = contextOf(command).settings;
    await checkEnvironment(settings);
    const target = [...command.args, ...namedBy(action, flags)];
    note = {
      ...{ by: userName(), via: 'command', action },
      target: target.slice(0, MOST_TARGETS),
      reason: flags.reason ?? flags.note ?? null,
    };
    // A misspelt folder is not made for the sake of the log.
    if (existsSync(settings.dataDir)) {
      const log = await auditLogOf(settings);
      began = (await log.write({ ...note, outcome: 'begun', detail: '', began })).number;
    }
  });
  return {
    async end(error) {
      if (note === null || settings === null || !existsSync(settings.dataDir)) return;
      // It did nothing in a folder that was not there.
      if (began === null && error !== null) return;
      const detail = error === null ? outcome : error instanceof Error ? error.message : String(error);
      const log = await auditLogOf(settings);
      await log.write({
        ...note,
        outcome: error === null ? 'done' : 'failed',
        detail,
        began,
      });
    },
  };
}

/** What flags name instead of arguments. */
function namedBy(action: string, flags: Flags): readonly string[] {
  const flag = (name: string, value: string | undefined): string | undefined =>
    value === undefined ? undefined : `--${name} ${value}`;
  const named = [flags.follow, flags.control, flag('ids', flags.ids)];
  if (action === 'purge') named.push(flag('before', flags.before));
  if (flags.all === true) named.push('--all');
  const tenants = [flags.tenant ?? []].flat().map((tenant) => flag('tenant', tenant));
  if (action === 'hold add') named.push(flag('invoice', flags.invoice), ...tenants);
  if (action === 'statement') named.push(flag('period', flags.period), ...tenants);
  return named.filter((word) => word !== undefined);
}

let outcome = '';

/** What came of the command that is being run, in a sentence for the audit log. */
export function noteOutcome(detail: string): void {
  outcome = detail;
}

/** Where the audit log of a data folder lies. */
export function auditFolder({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return dataFolder(dataDir).audit;
}

/** What was done in that data folder; secrets of the settings are kept out of it. */
export async function auditLogOf(settings: Settings): Promise<AuditLog> {
  // Read by those who write it: what checks its lines is a quarter of what every other command would load.
  const { openAuditLog } = await import('../lib/audit-log.ts');
  return openAuditLog(auditFolder(settings), { scrub: createScrub(settings) });
}

/** `quarantine discard`; the root has no name that a person types. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}
