/** `billsync upgrade --check`: what this program would change in a data folder, before it is started on it. */

import type { Command } from 'commander';
import type { Settings } from '../../config/settings.ts';
import { version } from '../../ops/version.ts';
import { checkDataFolderForm, DATA_FOLDER_FORM } from '../../warehouse/data-folder.ts';
import { contextOf, verb, withJson } from '../verb.ts';

interface Step {
  readonly what: string;
  /** What the folder has; null: not known. */
  readonly found: number | null;
  /** What this program makes of it. */
  readonly becomes: number | null;
  readonly effect: string;
}

export function upgradeCommand(): Command {
  const command = verb(
    'upgrade',
    'Says what this version would change in the data folder, and how to go back. It changes nothing: the next start does.',
    'billsync upgrade --check',
  ).requiredOption('--check', 'only check (required)');
  return withJson(command).action(async (_flags: unknown, command: Command) => {
    const { settings, output } = contextOf(command);
    const steps = await stepsOf(settings);
    output.rows(steps, [
      { title: 'what', value: ({ what }) => what },
      { title: 'found', value: ({ found }) => found, align: 'right' },
      { title: 'becomes', value: ({ becomes }) => becomes, align: 'right' },
      { title: 'effect', value: ({ effect }) => effect, canShrink: true },
    ]);
    output.note(
      `billsync ${version()}. Back up archive/, inbox/ and keys/ first; docs/install-upgrade.md has each step.`,
    );
  });
}

/** @throws DataFolderTooNewError, CliError (exit 2) the folder is not for this program; NotPublishedError (exit 3) */
async function stepsOf(settings: Settings): Promise<readonly Step[]> {
  const { openPublished } = await import('../published.ts');
  const published = await openPublished(settings);
  try {
    const form = await checkDataFolderForm(settings.dataDir);
    const [state] = await published.ask('schema-number');
    const found = Number(state?.schema_number);
    const open = Number(state?.open_invoices);
    return [
      {
        what: 'data folder',
        ...{ found: form, becomes: DATA_FOLDER_FORM },
        effect: form === null ? 'is marked; older versions take no notice' : 'stays as it is',
      },
      { what: 'warehouse', found, ...(await warehouseStep(found)) },
      {
        what: 'open invoices',
        ...{ found: open, becomes: open },
        effect:
          'their workflows go on with the new code; histories of older versions are replayed in its tests',
      },
    ];
  } finally {
    published.close();
  }
}

async function warehouseStep(found: number): Promise<Pick<Step, 'becomes' | 'effect'>> {
  const { schemaNumber } = await import('../../warehouse/schema-number.ts');
  const becomes = schemaNumber();
  if (found === becomes) return { becomes, effect: 'stays as it is' };
  if (found > becomes)
    return { becomes, effect: 'is newer: this version refuses it until `billsync rebuild` makes one for it' };
  return {
    becomes,
    effect: `${becomes - found} migrations at the next start; the way back is the older version and its \`billsync rebuild\``,
  };
}
