/** The ladder to a Temporal executable, rung by rung. */

import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  TEMPORAL_CLI_VERSION,
  TemporalServerMissingError,
  temporalExecutable,
} from '../../temporal/server-executable.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billsync-ladder-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function aCli(path: string, version: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "temporal version ${version} (Server 1.0.0)"\n`);
  await chmod(path, 0o755);
  return path;
}

describe('temporalExecutable', () => {
  test('takes the one on PATH', async () => {
    const path = await aCli(join(folder, 'bin', 'temporal'), '1.9.1');
    expect(await temporalExecutable({ path: join(folder, 'bin'), cacheDir: join(folder, 'no') })).toBe(path);
  });

  test('takes the cached one when the one on PATH is too old', async () => {
    await aCli(join(folder, 'old', 'temporal'), '0.13.0');
    const cacheDir = join(folder, 'cache');
    const cached = await aCli(join(cacheDir, 'temporal', TEMPORAL_CLI_VERSION, 'temporal'), '1.9.1');
    const lines: string[] = [];
    const found = await temporalExecutable({
      ...{ path: join(folder, 'old'), cacheDir },
      onProgress: (line) => lines.push(line),
    });
    expect(found).toBe(cached);
    expect(lines.join('\n')).toContain('cache');
  });

  test('says what each rung said and what to do when none holds', () => {
    const error = new TemporalServerMissingError(['PATH: none', 'pip: no network']);
    expect(error.message).toContain('pip: no network');
    expect(error.message).toContain('TEMPORAL_ADDRESS');
  });
});
