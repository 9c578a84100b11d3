import type { Command } from 'commander';
import type { SettingOrigin } from '../../lib/config/find-setting.ts';
import { contextOf, group, verb } from '../verb.ts';

export function command(): Command {
  const show = verb(
    'show',
    'Shows the effective settings and the source of each: flag, environment, file or default. Secrets are masked.',
    'billsync config show --json | jq .settings.base_url',
  )
    .json()
    .action((_flags: unknown, command: Command) => showSettings(command));
  return group('config', 'Shows the effective settings.', [show]);
}

interface EffectiveSetting {
  readonly name: string;
  readonly value: string | null;
  readonly origin: string;
  readonly from: string;
}

function showSettings(command: Command): void {
  const { effective, output } = contextOf(command);
  const temporal = temporalVariables();
  const all = [...effective.origins.map(effectiveSetting), ...temporal];
  if (output.form === 'json') {
    const settings = Object.fromEntries(
      effective.origins.map((origin) => {
        const { value, origin: kind, from } = effectiveSetting(origin);
        return [
          origin.definition.fileKey,
          { variable: origin.definition.variable, value, origin: kind, from },
        ];
      }),
    );
    const { temporalConfigured, webhook } = effective.settings;
    output.thing(
      {
        file: effective.file,
        temporal: temporalConfigured ? 'configured' : 'embedded',
        temporal_variables: Object.fromEntries(temporal.map(({ name, value }) => [name, value])),
        webhook_paths: webhook.paths.map(({ path }) => path),
        settings,
      },
      () => '',
    );
    return;
  }
  output.text(`Settings file: ${effective.file ?? 'none'}\n`);
  output.rows(all, [
    { title: 'setting', value: ({ name }) => name },
    { title: 'value', value: ({ value }) => value, canShrink: true },
    { title: 'from', value: ({ name, origin, from }) => whereFrom(name, origin, from) },
  ]);
  output.note(
    `Temporal: ${effective.settings.temporalConfigured ? 'configured by TEMPORAL_*' : 'embedded'}.`,
  );
}

function whereFrom(name: string, origin: string, from: string): string {
  return origin === 'default' || from === name || from === `--setting ${name}` ? origin : `${origin} ${from}`;
}

function temporalVariables(): readonly EffectiveSetting[] {
  return Object.entries(process.env)
    .filter(([name, value]) => name.startsWith('TEMPORAL_') && value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value = '']) => {
      const isSecret = /KEY|DATA|SECRET|TOKEN|META/.test(name) && !name.endsWith('_PATH');
      return { name, value: isSecret ? MASK : value, origin: 'environment', from: name };
    });
}

function effectiveSetting({ definition, text, origin, from }: SettingOrigin): EffectiveSetting {
  const unset = text === null;
  const value = unset
    ? (definition.defaultNote ?? null)
    : definition.secret
      ? mask(definition.variable, text)
      : text;
  return { name: definition.variable, value, origin, from };
}

const MASK = '********';

/**
 * A secret is replaced by a mask that hides its length too. The path of a warehouse file is no secret; the connection of a lake is.
 */
function mask(variable: string, text: string): string {
  return variable === 'BILLSYNC_WAREHOUSE' && text.startsWith('duckdb:') ? text : MASK;
}
