/** Finds systemd's programs for the tests of units and of what roles tell the service manager, or gets them with apt-get as root. */

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** @throws Error none is on PATH and none could be installed: the tests need it */
export async function findSystemd(): Promise<{ readonly analyze: string; readonly notify: string }> {
  const find = async () => ({
    analyze: await onPath('systemd-analyze'),
    notify: await onPath('systemd-notify'),
  });
  try {
    return await find();
  } catch (error) {
    if (process.getuid?.() !== 0) throw error;
    const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    await run('apt-get', ['update'], options);
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'systemd'], options);
    return find();
  }
}

async function onPath(program: string): Promise<string> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/bin']) {
    const path = join(folder, program);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (folder !== '' && isThere) return path;
  }
  throw new Error(
    `The tests of systemd's units need ${program}: install the package systemd (it need not be running).`,
  );
}
