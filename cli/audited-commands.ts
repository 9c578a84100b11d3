import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { AuditLog } from '../lib/audit-log.ts';
import type { Settings } from '../lib/config/settings.ts';
import { createScrub } from '../lib/log/scrub.ts';
import { userName } from '../lib/runtime.ts';

const MAX_TARGETS = 100;
const NO_TARGETS: ReadonlySet<string> = new Set([
  'reason',
  'note',
  'yes',
  'json',
  'ndjson',
  'wait',
  'timeout',
]);

export async function runAudited(
  command: Command,
  settings: Settings,
  work: (recordOutcome: (detail: string) => void) => void | Promise<void>,
): Promise<void> {
  const { reason, note } = command.opts<{ readonly reason?: string; readonly note?: string }>();
  const entry = {
    ...({ by: userName(), via: 'command', action: nameOf(command) } as const),
    target: [...command.args, ...optionsOf(command)].slice(0, MAX_TARGETS),
    reason: reason ?? note ?? null,
  };
  async function run(): Promise<{ readonly result: undefined; readonly detail: string }> {
    let detail = '';
    await work((result) => {
      detail = result;
    });
    return { result: undefined, detail };
  }
  const { audited } = await import('../lib/audit-log.ts');
  // The audit log never creates a data folder, whose name may be misspelt; some commands do create it.
  if (existsSync(settings.dataDir)) {
    await audited(await auditLogOf(settings), entry, run);
    return;
  }
  const { detail } = await run();
  if (existsSync(settings.dataDir))
    await (await auditLogOf(settings)).write({ ...entry, outcome: 'done', detail, began: null });
}

function optionsOf(command: Command): readonly string[] {
  return command.options.flatMap((option) => {
    const name = option.attributeName();
    if (NO_TARGETS.has(name) || command.getOptionValueSource(name) !== 'cli') return [];
    const value: unknown = command.getOptionValue(name);
    if (typeof value === 'boolean') return [option.long ?? ''];
    return [value]
      .flat()
      .map((each) => `${option.long} ${typeof each === 'string' ? each : JSON.stringify(each)}`);
  });
}

export async function auditLogOf(settings: Settings): Promise<AuditLog> {
  // The audit log is loaded on demand: it would be a quarter of the code that every other command loads.
  const { openAuditLog } = await import('../lib/audit-log.ts');
  return openAuditLog(settings.dataDir, { scrub: createScrub(settings) });
}

function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}
