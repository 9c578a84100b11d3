/** Makes the effective settings from flags, environment, file and defaults, or says everything that is wrong at once. */

import { buildSettings } from './build-settings.ts';
import { findText, type SettingOrigin, type SettingsSources, unknownVariables } from './find-setting.ts';
import { SETTING_DEFINITIONS } from './setting-definitions.ts';
import type { Settings } from './settings.ts';
import { SettingsError, type SettingsProblem } from './settings-error.ts';
import { findSettingsFile, readSettingsFile } from './settings-file.ts';

export interface EffectiveSettings {
  readonly settings: Settings;
  readonly origins: readonly SettingOrigin[];
  readonly file: string | null;
}

/** @throws SettingsError with every problem there is */
export function loadSettings(sources: SettingsSources): Settings {
  return loadEffectiveSettings(sources).settings;
}

/** The settings and where each came from, for `config show`. @throws SettingsError */
export function loadEffectiveSettings(sources: SettingsSources): EffectiveSettings {
  const problems: SettingsProblem[] = [];
  const named = sources.flags?.BILLSYNC_CONFIG ?? (sources.env.BILLSYNC_CONFIG || undefined);
  const path = findSettingsFile({ named, cwd: sources.cwd });
  const file = path === null ? null : readSettingsFile(path, problems);
  problems.push(...unknownVariables(sources.env));
  const origins = SETTING_DEFINITIONS.map((definition) => findText(definition, { sources, file, problems }));
  const settings = buildSettings({ origins, file, sources, problems });
  if (settings === null || problems.length > 0) throw new SettingsError(problems);
  return { settings, origins, file: path };
}
