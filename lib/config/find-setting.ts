/** Finds the text of each setting: in a flag, else the environment, else the settings file, else its default. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { didYouMean } from './did-you-mean.ts';
import { COMPANION_VARIABLES, SETTING_DEFINITIONS, type SettingDefinition } from './setting-definitions.ts';
import type { SettingsProblem } from './settings-error.ts';
import type { SettingsFile } from './settings-file.ts';
import { messageOf, withName } from './system-error.ts';

export interface SettingsSources {
  /** By variable name; beats everything. `BILLSYNC_CONFIG` names the file. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether stderr is a terminal: decides the default of LOG_FORMAT. */
  readonly terminal?: boolean;
}

export type Origin = 'flag' | 'environment' | 'file' | 'default';

/** Where one setting's text came from; `text` is null when it is unset, secrets are whole here: mask before showing. */
export interface SettingOrigin {
  readonly definition: SettingDefinition;
  readonly text: string | null;
  readonly origin: Origin;
  /** The variable, flag or path it was read from. */
  readonly from: string;
  /** Relative paths in the text start here. */
  readonly folder: string;
}

/** What is named like a setting of ours in the environment and is none. */
export function unknownVariables(env: SettingsSources['env']): SettingsProblem[] {
  const known = new Set<string>(COMPANION_VARIABLES);
  for (const { variable, secret } of SETTING_DEFINITIONS) {
    known.add(variable);
    if (secret) known.add(`${variable}_FILE`);
  }
  return Object.keys(env)
    .filter((variable) => variable.startsWith('BILLSYNC_') && !known.has(variable))
    .sort()
    .map((variable) => {
      const near = didYouMean(variable, known);
      return {
        setting: variable,
        message: `is not a setting${near === null ? '' : `; did you mean ${near}?`}`,
      };
    });
}

export interface Search {
  readonly sources: SettingsSources;
  readonly file: SettingsFile | null;
  readonly problems: SettingsProblem[];
}

/** Whatever is wrong with the places is added to `problems`. */
export function findText(definition: SettingDefinition, { sources, file, problems }: Search): SettingOrigin {
  const { variable } = definition;
  const found = (origin: Origin, text: string | null, from: string, folder = sources.cwd) => ({
    ...{ definition, text, origin, from, folder },
  });
  const flag = sources.flags?.[variable];
  if (flag !== undefined && flag !== '') return found('flag', flag, `--setting ${variable}`);
  // An empty variable counts as unset: that is how a shell or a container unsets one.
  const environment = { texts: new Map(Object.entries(sources.env)), folder: sources.cwd, label: '' };
  const places = [
    { origin: 'environment' as const, ...environment },
    ...(file === null ? [] : [{ origin: 'file' as const, ...file, label: ` in ${file.path}` }]),
  ];
  for (const { origin, texts, folder, label } of places) {
    // Other programs read the variables of a proxy in small letters too, and some set only those.
    const inSmall = variable.endsWith('_PROXY') ? texts.get(variable.toLowerCase()) : undefined;
    const text = texts.get(variable) || inSmall || undefined;
    const secretPath = definition.secret ? texts.get(`${variable}_FILE`) || undefined : undefined;
    if (text !== undefined && secretPath !== undefined) {
      problems.push({ setting: `${variable}${label}`, message: `is given twice: also as ${variable}_FILE` });
    }
    if (text !== undefined)
      return found(origin, text, origin === 'file' ? (file?.path ?? '') : variable, folder);
    if (secretPath !== undefined) {
      const path = resolve(folder, secretPath);
      return found(origin, readSecret(definition, path, problems), path);
    }
  }
  return found('default', definition.default, 'default');
}

function readSecret(definition: SettingDefinition, path: string, problems: SettingsProblem[]): string | null {
  try {
    const text = withName(path, () => readFileSync(path, 'utf8')).replace(/\r?\n$/, '');
    if (text !== '') return text;
    problems.push({ setting: `${definition.variable}_FILE`, message: `${path} is empty` });
  } catch (error) {
    problems.push({ setting: `${definition.variable}_FILE`, message: messageOf(error) });
  }
  return null;
}
