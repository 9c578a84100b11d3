/** An S3 that none of us wrote: moto's server, from PyPI at a pinned version, kept in the ignored cache of the checkout. */

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { keepPythonTool } from '../support/tools/kept-tools.js';

const MOTO = {
  name: 'moto-5.2.5',
  packages: ['moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5', 'werkzeug==3.1.9'],
};

/** @throws Error python3 with pip is missing, or the packages cannot be had */
export async function startS3Server(): Promise<{ url: string; stop(): Promise<void> }> {
  const installed = await installS3Server();
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
export function installS3Server(): Promise<string> {
  return keepPythonTool(MOTO);
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
