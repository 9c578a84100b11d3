/** Records commands that change something in the audit log, before they begin and after they end (lib/audit-log.ts). */

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { AuditLog, AuditNote } from '../lib/audit-log.ts';
import type { Settings } from '../lib/config/settings.ts';
import { createScrub } from '../lib/log/scrub.ts';
import { userName } from '../lib/runtime.ts';
import { checkEnvironment, contextOf } from './verb.ts';

/** Commands that change invoices, kept data or schedules. Reading, checking and publishing are not recorded. */
export const AUDITED: ReadonlySet<string> = new Set([
  ...['invoices retry', 'invoices restore', 'invoices use-version'],
  ...['quarantine requeue', 'quarantine discard'],
  ...['backfill', 'import', 'rebuild', 'events replay', 'temporal reset'],
  ...['disputes open', 'disputes state', 'disputes note'],
  ...['statement', 'purge', 'hold add', 'hold lift', 'alerts acknowledge', 'alerts quiet'],
  ...['user-files put', 'user-files remove'],
  ...['schedule apply', 'schedule pause', 'schedule resume', 'schedule trigger'],
]);
/** A longer list of ids is recorded by the name of its file. */
const MAX_TARGETS = 100;

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
  /** Records how the command ended, if it is audited. @param error null for success */
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
      target: target.slice(0, MAX_TARGETS),
      reason: flags.reason ?? flags.note ?? null,
    };
    // The log does not create a folder that is misspelt.
    if (existsSync(settings.dataDir)) {
      const log = await auditLogOf(settings);
      began = (await log.write({ ...note, outcome: 'begun', detail: '', began })).number;
    }
  });
  return {
    async end(error) {
      if (note === null || settings === null || !existsSync(settings.dataDir)) return;
      // It failed in a folder that does not exist.
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

/** Targets that are named by flags. */
function namedBy(action: string, flags: Flags): readonly string[] {
  const flag = (name: string, value: string | undefined): string | undefined =>
    value === undefined ? undefined : `--${name} ${value}`;
  const named = [flags.follow, flags.control, flag('ids', flags.ids)];
  if (action === 'purge') named.push(flag('before', flags.before));
  if (flags.all === true) named.push('--all');
  const tenants = [flags.tenant ?? []].flat().map((tenant) => flag('tenant', tenant));
  if (action === 'hold add') named.push(flag('invoice', flags.invoice), ...tenants);
  if (action === 'statement') named.push(flag('period', flags.period), ...tenants);
  return named.filter((target) => target !== undefined);
}

let outcome = '';

/** Sets the result of the running command for the audit log, as a sentence. */
export function recordOutcome(detail: string): void {
  outcome = detail;
}

export async function auditLogOf(settings: Settings): Promise<AuditLog> {
  // Loaded on demand: it would be a quarter of the code that every other command loads.
  const { openAuditLog } = await import('../lib/audit-log.ts');
  return openAuditLog(settings.dataDir, { scrub: createScrub(settings) });
}

/** `quarantine discard`; without the name of the program. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}
