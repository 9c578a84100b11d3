import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { TEMPORAL_CLI_VERSION, temporalExecutable } from '../../../lib/temporal/server-executable.ts';
import { testFolder } from '../../support/folders.ts';
import { listen } from '../../support/listen.ts';

const folder = testFolder();

async function aCli(path: string, version: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "temporal version ${version} (Server 1.0.0)"\n`);
  await chmod(path, 0o755);
  return path;
}

describe('temporalExecutable', () => {
  test('uses the cached server when the one on PATH is too old', async () => {
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

  test('runs no download without the pinned hash', async () => {
    const evil = join(folder, 'evil');
    const ran = join(folder, 'ran');
    await mkdir(evil);
    await writeFile(join(evil, 'temporal'), `#!/bin/sh\ntouch ${ran}\necho "temporal version 1.9.1"\n`, {
      mode: 0o755,
    });
    const { stdout } = await promisify(execFile)('tar', ['-czf', '-', '-C', evil, 'temporal'], {
      encoding: 'buffer',
    });
    const server = createServer((_request, answer) => answer.end(stdout));
    const downloadFrom = `http://127.0.0.1:${await listen(server)}`;
    // Neither on PATH nor by pip: only the download is left.
    const before = process.env.PATH;
    process.env.PATH = join(folder, 'only-tar');
    await mkdir(process.env.PATH);
    for (const tool of ['tar', 'gzip']) {
      const places = (before ?? '').split(delimiter).map((place) => join(place, tool));
      await symlink(places.find(existsSync) ?? '', join(process.env.PATH, tool));
    }
    try {
      const finding = temporalExecutable({ path: '', cacheDir: join(folder, 'fresh'), downloadFrom });
      await expect(finding).rejects.toThrow(/is not a pinned one; it was not run/);
      expect(existsSync(ran)).toBe(false);
    } finally {
      process.env.PATH = before;
      server.close();
    }
  });
});
