/** An S3 that none of us wrote: moto's server, from PyPI at a pinned version, kept in the ignored cache of the checkout. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const PACKAGES = ['moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5', 'werkzeug==3.1.9'];
const cache = join(import.meta.dirname, '../../.cache');
const installed = join(cache, 'moto-5.2.5');

/** @throws Error python3 with pip is missing, or the packages cannot be had */
export async function startS3Server(): Promise<{ url: string; stop(): Promise<void> }> {
  await installS3Server();
  const script = 'import sys; from moto.server import main; main(["-H", "127.0.0.1", "-p", "0"])';
  const child = spawn('python3', ['-c', script], {
    env: { ...process.env, PYTHONPATH: installed },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await address(child);
  return {
    url,
    async stop() {
      const isGone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await isGone;
    },
  };
}

/** The folder of its packages; the first call on a machine downloads them. @throws Error as above */
export async function installS3Server(): Promise<string> {
  if (existsSync(installed)) return installed;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, 'moto-'));
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--target',
    draft,
    ...PACKAGES,
  ];
  try {
    await promisify(execFile)('python3', pip);
  } catch (error) {
    await rm(draft, { recursive: true });
    throw new Error(
      'The S3 for tests needs python3 with pip and PyPI (moto 5.2.5); one of them is missing.',
      {
        cause: error,
      },
    );
  }
  await rename(draft, installed).catch(() => rm(draft, { recursive: true }));
  return installed;
}

function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    child.once('exit', () => reject(new Error(`The S3 for tests ended: ${said.join('\n')}`)));
    if (child.stderr === null) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      const url = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}
