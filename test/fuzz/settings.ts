/** Any settings file and environment: they are taken, or refused with a sentence that quotes no secret. */

import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import { SettingsError } from '../../lib/config/settings.ts';
import { damaged, hostileJson, hostileText } from '../security/hostile/json.ts';
import { makeMemoryFolder } from '../support/folders.ts';
import type { Random } from '../support/random.ts';
import type { FuzzRun } from './fuzz-targets.ts';

export const summary = 'settings files and environments';
export const quickCases = 200;

/** Part of every secret, within its defect. */
const SECRET = 'sEcReT-4711';
const SECRET_OF_FILE = 'FiLe-sEcReT';

export async function open(): Promise<FuzzRun> {
  const folder = await makeMemoryFolder('fuzz-settings-');
  const path = join(folder, 'billsync.yaml');
  return {
    play(random) {
      // Damage may carry a secret of the file to where none is expected.
      const isDamaged = random.chance(0.15);
      writeFileSync(path, random.chance(0.5) ? aFile(random, isDamaged) : '', { mode: 0o600 });
      const secrets = isDamaged ? [SECRET] : [SECRET, SECRET_OF_FILE];
      try {
        loadSettings({ env: anEnvironment(random), cwd: folder });
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        if (secrets.some((secret) => error.message.includes(secret)))
          throw new Error(`A secret is quoted: ${error.message}`);
      }
    },
    close: () => rm(folder, { recursive: true }),
  };
}

function anEnvironment(random: Random): Record<string, string> {
  const some = Array.from({ length: random.between(0, 6) }, () => random.pick(SETTING_DEFINITIONS));
  return Object.fromEntries(
    some.map(({ variable, secret }) => {
      const text = random.chance(0.5) ? likely(random) : hostileText(random);
      return [
        random.chance(0.05) ? `${variable}X` : variable,
        secret ? `${text}${SECRET}${likely(random)}` : text,
      ];
    }),
  );
}

function likely(random: Random): string {
  return random.pick([
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

function aFile(random: Random, isDamaged: boolean): Uint8Array {
  const lines = Array.from({ length: random.between(0, 6) }, () => {
    const { fileKey, secret } = random.pick(SETTING_DEFINITIONS);
    const key = random.chance(0.1) ? random.pick(['webhook_paths', 'nosuch', '__proto__']) : fileKey;
    const value = random.chance(0.5) ? likely(random) : hostileJson(random, 2);
    return `${key}: ${secret ? JSON.stringify(`${SECRET_OF_FILE}${value}`) : value}`;
  });
  const bytes = Buffer.from(lines.join('\n'));
  return isDamaged ? damaged(random, bytes) : bytes;
}
