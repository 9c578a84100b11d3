/**
 * The seed of a data folder. Credentials, ids and tenants follow from it, so a restart must use the same one.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PartnerKind } from '../model.ts';

export interface FolderSettings {
  readonly seed: number;
  readonly partnerKind: PartnerKind;
  readonly wirePrefix: string;
  /** Source of the credentials: the given seed, else a random one, so that no two machines share them. */
  readonly credentialSeed: number | string;
}

export class FolderSettingsError extends Error {
  override readonly name = 'FolderSettingsError';
  readonly code = 'folder_settings';
}

const DEFAULTS: Omit<FolderSettings, 'credentialSeed'> = {
  seed: 1,
  partnerKind: '3pl',
  wirePrefix: 'shipium',
};

/**
 * What was asked for, else what the folder was made with, else the usual; kept for the next start.
 *
 * @throws FolderSettingsError when the folder was made with another seed or kind of partner
 */
export function openFolderSettings(
  dataDir: string,
  wanted: Partial<Omit<FolderSettings, 'credentialSeed'>>,
): FolderSettings {
  const path = join(dataDir, 'settings.json');
  const kept = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as FolderSettings) : null;
  for (const [name, words] of [
    ['seed', 'seed'],
    ['partnerKind', 'partner'],
  ] as const) {
    const asked = wanted[name];
    if (kept === null || asked === undefined || asked === kept[name]) continue;
    throw new FolderSettingsError(
      `The folder ${dataDir} was made with --${words} ${kept[name]}, not with ${asked}.`,
    );
  }
  const seed = wanted.seed ?? kept?.seed ?? DEFAULTS.seed;
  const isDrawn = kept === null && wanted.seed === undefined;
  const settings = {
    seed,
    credentialSeed: kept?.credentialSeed ?? (isDrawn ? randomBytes(16).toString('hex') : seed),
    partnerKind: wanted.partnerKind ?? kept?.partnerKind ?? DEFAULTS.partnerKind,
    wirePrefix: wanted.wirePrefix ?? kept?.wirePrefix ?? DEFAULTS.wirePrefix,
  };
  if (!/^[a-z][A-Za-z0-9]*$/.test(settings.wirePrefix)) {
    throw new FolderSettingsError(`The prefix "${settings.wirePrefix}" is no beginning of a field's name.`);
  }
  writeFileSync(path, `${JSON.stringify(settings)}\n`, { mode: 0o600 });
  return settings;
}
