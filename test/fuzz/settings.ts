/** Any settings file and environment: they are taken, or refused with a sentence that quotes no secret. */

import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import { SettingsError } from '../../lib/config/settings.ts';
import { damaged, hostileJson, hostileText } from '../security/hostile/json.ts';
import type { Dice } from '../support/dice.ts';
import type { FuzzRun } from '../support/fuzz.ts';
import { makeMemoryFolder } from '../support/memory-folder.ts';

export const summary = 'settings files and environments';
export const quickCases = 200;

/** Stands in every secret, in the middle of whatever is wrong with it. */
const SECRET = 'sEcReT-4711';
const SECRET_OF_FILE = 'FiLe-sEcReT';

export async function open(): Promise<FuzzRun> {
  const folder = await makeMemoryFolder('fuzz-settings-');
  const path = join(folder, 'billsync.yaml');
  return {
    play(dice) {
      // Damage may carry a secret of the file to where none is expected.
      const isDamaged = dice.chance(0.15);
      writeFileSync(path, dice.chance(0.5) ? aFile(dice, isDamaged) : '');
      const secrets = isDamaged ? [SECRET] : [SECRET, SECRET_OF_FILE];
      try {
        loadSettings({ env: anEnvironment(dice), cwd: folder });
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        if (secrets.some((secret) => error.message.includes(secret)))
          throw new Error(`A secret is quoted: ${error.message}`);
      }
    },
    close: () => rm(folder, { recursive: true }),
  };
}

function anEnvironment(dice: Dice): Record<string, string> {
  const some = Array.from({ length: dice.between(0, 6) }, () => dice.pick(SETTING_DEFINITIONS));
  return Object.fromEntries(
    some.map(({ variable, secret }) => {
      const text = dice.chance(0.5) ? likely(dice) : hostileText(dice);
      return [
        dice.chance(0.05) ? `${variable}X` : variable,
        secret ? `${text}${SECRET}${likely(dice)}` : text,
      ];
    }),
  );
}

function likely(dice: Dice): string {
  return dice.pick([
    'on',
    '0',
    '65536',
    '1h',
    'a:b',
    'a,b:c',
    'x:',
    'https://h/',
    's3://b/p',
    'ducklake:postgres:x',
    '::1',
    '10.0.0.0/8',
    '60d',
    '1GB',
    'k:AAAA',
    '/a/../b',
  ]);
}

function aFile(dice: Dice, isDamaged: boolean): Uint8Array {
  const lines = Array.from({ length: dice.between(0, 6) }, () => {
    const { fileKey, secret } = dice.pick(SETTING_DEFINITIONS);
    const key = dice.chance(0.1) ? dice.pick(['webhook_paths', 'nosuch', '__proto__']) : fileKey;
    const value = dice.chance(0.5) ? likely(dice) : hostileJson(dice, 2);
    return `${key}: ${secret ? JSON.stringify(`${SECRET_OF_FILE}${value}`) : value}`;
  });
  const bytes = Buffer.from(lines.join('\n'));
  return isDamaged ? damaged(dice, bytes) : bytes;
}
