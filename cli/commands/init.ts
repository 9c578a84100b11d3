import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { DEFAULT_FILE_NAME } from '../../lib/config/find-setting.ts';
import { settingsFileTemplate } from '../../lib/config/setting-definitions.ts';
import { untrustedReason } from '../../lib/files/trusted-path.ts';
import { withPathInErrors } from '../../lib/system-errors.ts';
import { CliError, EXIT } from '../errors.ts';
import { outputOf, settingFlags, verb } from '../verb.ts';

interface InitFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly config?: string;
  readonly dataDir?: string;
  readonly environment?: string;
}

export function command(): Command {
  return verb(
    'init',
    'Writes a commented settings file (billsync.yaml, or the file of --config). It never contains a secret.',
    'billsync init --environment test --setting base_url=https://billing.example.com',
  )
    .option('--dry-run', 'print the file instead of writing it')
    .option('--yes', 'replace an existing file')
    .action((_flags: unknown, command: Command) => init(command));
}

function init(command: Command): void {
  const flags = command.optsWithGlobals<InitFlags>();
  const output = outputOf(command);
  const { BILLSYNC_CONFIG: named, ...given } = settingFlags(flags);
  const path = resolve(named ?? DEFAULT_FILE_NAME);
  const content = settingsFileTemplate(new Map(Object.entries(given)));
  if (flags.dryRun === true) {
    output.text(content);
    return;
  }
  if (flags.yes !== true && existsSync(path)) {
    throw new CliError(EXIT.usage, 'the settings file exists', {
      subject: path,
      hint: 'add --yes to replace the file, or name another one with --config FILE',
    });
  }
  withPathInErrors(path, () => writeFileSync(path, content, { mode: 0o600 }));
  output.note(`Wrote ${path}. Fill it in, then run \`billsync doctor\`.`);
  const untrusted = named === undefined ? untrustedReason(path) : null;
  if (untrusted !== null) output.warn(`It is read only when --config names it, because ${untrusted}.`);
}
