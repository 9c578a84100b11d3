import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { nearestNames } from '../lib/config/did-you-mean.ts';
import { loadEffectiveSettings } from '../lib/config/load-settings.ts';
import { SETTING_DEFINITIONS } from '../lib/config/setting-definitions.ts';
import type { Settings } from '../lib/config/settings.ts';
import { readIfThere } from '../lib/files/files.ts';
import { isOpenToAll, OPEN_TO_ALL } from '../lib/files/private-folder.ts';
import { createScrub, type Scrub } from '../lib/log/scrub.ts';
import { registerUserStore, type UserStore } from '../lib/user-store.ts';
import { readInstant } from '../lib/wire/lenient-values.ts';
import { checkDataFolderForm } from '../warehouse/data-folder.ts';
import { CliError, EXIT } from './errors.ts';
import { createOutput, type Output, type OutputForm, scrubStderr } from './terminal/output.ts';

export interface Run<Flags = object> {
  readonly settings: Settings;
  readonly output: Output;
  readonly flags: Flags;
  readonly recordOutcome: (detail: string) => void;
}

export interface SharedFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly environment?: string;
  readonly setting?: readonly (readonly [string, string])[];
  readonly json?: boolean;
  readonly ndjson?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  readonly section: string;
  readonly load: () => Promise<Command>;
}

export class Verb extends Command {
  #isAudited: ((flags: never) => boolean) | null = null;

  get isAudited(): boolean {
    return this.#isAudited !== null;
  }

  json(): this {
    return this.option('--json', 'one JSON document on stdout');
  }

  ndjson(): this {
    const lines = new Option('--ndjson', 'a line of JSON per item on stdout').conflicts('json');
    return this.json().addOption(lines);
  }

  /**
   * Records each run that changes something in the audit log; a dry run changes nothing.
   *
   * @param changes whether a run with these flags changes something
   */
  audited<Flags>(changes: (flags: Flags) => boolean = () => true): this {
    this.#isAudited = changes;
    return this;
  }

  run<Flags, Args extends readonly unknown[]>(
    work: (run: Run<Flags>, ...args: Args) => void | Promise<void>,
  ): this {
    return this.action(async () => {
      const { settings, output } = contextOf(this);
      await checkEnvironment(settings);
      const flags = this.opts() as Flags & { readonly dryRun?: boolean };
      const given = this.processedArgs as unknown as Args;
      if (this.#isAudited?.(flags as never) !== true || flags.dryRun === true)
        return await work({ settings, output, flags, recordOutcome: () => undefined }, ...given);
      const { runAudited } = await import('./audited-commands.ts');
      await runAudited(this, settings, (recordOutcome) =>
        work({ settings, output, flags, recordOutcome }, ...given),
      );
    });
  }
}

export function verb(nameAndArguments: string, summary: string, example: string): Verb {
  const [name = '', ...rest] = nameAndArguments.split(' ');
  const command = new Verb(name).description(summary);
  if (rest.length > 0) command.arguments(rest.join(' '));
  return command.addHelpText('after', `\nExample:\n${example.replace(/^/gm, '  ')}`);
}

export function group(name: string, summary: string, commands: readonly Command[]): Command {
  const command = new Command(name).description(summary);
  for (const child of commands) command.addCommand(child);
  return command.addHelpText('after', `\nExample:\n  billsync ${name} ${commands[0]?.name()} --help`);
}

export function sharedOptions(): readonly Option[] {
  return [
    new Option('--config <file>', 'settings file; by default BILLSYNC_CONFIG, then ./billsync.yaml'),
    new Option('--data-dir <dir>', 'same as BILLSYNC_DATA_DIR'),
    new Option('--environment <name>', 'same as BILLSYNC_ENVIRONMENT').choices(['test', 'production']),
    new Option('--setting <name=value>', 'any setting that is not secret (repeatable)').argParser(
      collectSetting,
    ),
    new Option('--quiet', 'print only problems to stderr, no messages and no progress'),
    new Option('--verbose', 'show the stack trace of an error'),
  ];
}

export function contextOf(command: Command, overrides: Readonly<Record<string, string>> = {}) {
  const flags = command.optsWithGlobals<SharedFlags>();
  const effective = loadEffectiveSettings({
    flags: { ...settingFlags(flags), ...overrides },
    env: process.env,
    cwd: process.cwd(),
    terminal: process.stderr.isTTY === true,
  });
  scrubStderr(createScrub(effective.settings));
  useSharedFiles(effective.settings);
  return {
    settings: effective.settings,
    effective,
    output: outputOf(command, createScrub(effective.settings, { keepNumbers: true })),
    verbose: flags.verbose === true,
  };
}

/**
 * Makes the files that people write come from PostgreSQL when the warehouse is a lake. Each process calls it before it uses such a
 * file.
 */
export function useSharedFiles({ dataDir, warehouse, environment }: Settings): void {
  const open = async (lake: Extract<Settings['warehouse'], { kind: 'ducklake' }>): Promise<UserStore> => {
    const { openUserFiles } = await import('../warehouse/lake/user-files.ts');
    return openUserFiles(lake, environment);
  };
  registerUserStore(dataDir, warehouse.kind === 'ducklake' ? () => open(warehouse) : null);
}

export function outputOf(command: Command, scrub?: Scrub): Output {
  const flags = command.optsWithGlobals<SharedFlags>();
  const form: OutputForm = flags.json === true ? 'json' : flags.ndjson === true ? 'ndjson' : 'table';
  return createOutput({ form, quiet: flags.quiet === true, scrub });
}

export function settingFlags(flags: SharedFlags): Record<string, string> {
  const texts: Record<string, string> = Object.fromEntries(flags.setting ?? []);
  if (flags.config !== undefined) texts.BILLSYNC_CONFIG = flags.config;
  if (flags.dataDir !== undefined) texts.BILLSYNC_DATA_DIR = flags.dataDir;
  if (flags.environment !== undefined) texts.BILLSYNC_ENVIRONMENT = flags.environment;
  return texts;
}

/** Reads an option that is a duration in seconds; a longer timer of Node would fire at once. */
export function seconds(text: string): number {
  const value = positiveInteger(text);
  if (value <= MAX_TIMER_SECONDS) return value;
  throw new InvalidArgumentError(`It must be at most ${MAX_TIMER_SECONDS}, which are 24 days.`);
}

const MAX_TIMER_SECONDS = 24 * 86_400;

export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number from 1.');
  }
  return value;
}

/** Reads an option that is an instant or a date; a date means its start in UTC. @returns ISO 8601 UTC */
export function instant(text: string): string {
  const read = readInstant(text);
  if (read !== undefined) return new Date(read).toISOString();
  const forms = 'a day such as 2026-03-08, or an instant such as 2026-03-08T12:00:00Z';
  throw new InvalidArgumentError(`It must be ${forms}.`);
}

/** Reads an option that is an instant; a date means its end in UTC. @returns ISO 8601 UTC, exclusive */
export function endInstant(text: string): string {
  const start = instant(text);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(Date.parse(start) + 86_400_000).toISOString() : start;
}

type SettingPair = readonly [string, string];

function collectSetting(text: string, before: readonly SettingPair[] | undefined): readonly SettingPair[] {
  const equals = text.indexOf('=');
  const name = text.slice(0, Math.max(0, equals));
  const definition = SETTING_DEFINITIONS.find(
    ({ variable, fileKey }) => variable === name || fileKey === name,
  );
  if (equals < 1 || definition === undefined) {
    const [near] = nearestNames(
      name,
      SETTING_DEFINITIONS.flatMap(({ variable, fileKey }) => [variable, fileKey]),
    );
    throw new InvalidArgumentError(
      equals < 1
        ? 'It must be NAME=VALUE.'
        : `There is no setting "${name}"${near === undefined ? '; `billsync config show` lists them' : `; did you mean ${near}`}.`,
    );
  }
  if (definition.secret && definition.variable !== 'BILLSYNC_WAREHOUSE') {
    throw new InvalidArgumentError(
      `Other users can read a command line, so secrets are refused here: use ${definition.variable}_FILE.`,
    );
  }
  return [...(before ?? []), [definition.variable, text.slice(equals + 1)]];
}

/** A data folder without a mark belongs to any environment. @throws CliError, data-folder-too-new (exit 2) */
export async function checkEnvironment({ dataDir, environment }: Settings): Promise<void> {
  await checkDataFolderForm(dataDir);
  if (await isOpenToAll(dataDir)) {
    process.stderr.write(
      `billsync: warning: ${OPEN_TO_ALL}, ${dataDir}, so the data may be forged\n  → check that all of it is yours, then chmod -R go-rwx it\n`,
    );
  }
  const marked = (await readIfThere(join(dataDir, 'environment')))?.toString().trim() ?? environment;
  if (marked === environment) return;
  throw new CliError(EXIT.usage, `this data folder belongs to the ${marked} environment`, {
    subject: dataDir,
    hint: `set BILLSYNC_ENVIRONMENT=${marked}, or another BILLSYNC_DATA_DIR for ${environment}`,
  });
}
