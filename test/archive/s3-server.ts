/** An S3 that none of us wrote: moto's server, from PyPI at a pinned version, kept in the ignored cache of the checkout. */

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { installPythonTool } from '../support/tools/installed-tools.ts';

const MOTO = {
  name: 'moto-5.2.5',
  packages: ['moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5', 'werkzeug==3.1.9'],
};

/**
 * S3 accepts exactly one of several conditional puts; moto checks and then writes, each request in a thread of its own, so two
 * concurrent ones may both succeed. This script runs them one after the other.
 */
const SCRIPT = `
import threading
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import main

turn = threading.Lock()
answer = DomainDispatcherApplication.__call__

def in_turn(app, environ, start_response):
    if "HTTP_IF_NONE_MATCH" not in environ:
        return answer(app, environ, start_response)
    with turn:
        return answer(app, environ, start_response)

DomainDispatcherApplication.__call__ = in_turn
main(["-H", "127.0.0.1", "-p", "0"])
`;

/** @throws Error python3 with pip is missing, or the packages cannot be had */
export async function startS3Server(): Promise<{ url: string; stop(): Promise<void> }> {
  const installed = await installS3Server();
  const child = spawn('python3', ['-c', SCRIPT], {
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
  return installPythonTool(MOTO);
}

function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    child.once('exit', () => reject(new Error(`The S3 for tests ended: ${lines.join('\n')}`)));
    if (child.stderr === null) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      const url = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}
