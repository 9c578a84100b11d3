/** Starts, arms and kills the endpoint of the chaos tests as a real process, again and again on the same port. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { testProgram } from '../support/processes/test-program.ts';

export interface EndpointProcess {
  /** null while it is not up. */
  url(): string | null;
  start(): Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** It will kill itself at that durable point; resolves when it knows. */
  arm(point: string): Promise<void>;
  /** Resolves when it is gone. */
  gone(): Promise<void>;
}

/** `bare`: the floor that the endpoint is measured against. */
const RUNNERS = {
  endpoint: testProgram('webhook/endpoint-runner.ts'),
  bare: testProgram('webhook/bare-runner.ts'),
};

export async function createEndpointProcess(
  dataDir: string,
  kind: keyof typeof RUNNERS = 'endpoint',
): Promise<EndpointProcess> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  let child: ChildProcess | null = null;
  let url: string | null = null;
  let port = 0;
  let ended: Promise<void> = Promise.resolve();
  const waiting = new Map<string, () => void>();

  async function start(): Promise<void> {
    const started = spawn(process.execPath, [RUNNERS[kind], dataDir, String(port)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child = started;
    const isReady = new Promise<void>((resolve) => waiting.set('ready', resolve));
    ended = new Promise((resolve) => {
      started.once('exit', () => {
        url = null;
        resolve();
      });
    });
    started.stdin?.on('error', () => undefined);
    createInterface({ input: started.stdout }).on('line', (line) => {
      const report = JSON.parse(line) as { ready?: string; port?: number; armed?: string };
      if (report.ready !== undefined) {
        url = report.ready;
        port = report.port ?? port;
        waiting.get('ready')?.();
      } else waiting.get('armed')?.();
    });
    await Promise.race([isReady, ended.then(() => Promise.reject(new Error('The endpoint did not start.')))]);
  }

  return {
    url: () => url,
    start,
    async kill() {
      url = null;
      child?.kill('SIGKILL');
      await ended;
    },
    async arm(point) {
      const armed = new Promise<void>((resolve) => waiting.set('armed', resolve));
      child?.stdin?.write(`die ${point}\n`);
      await armed;
    },
    gone: () => ended,
  };
}
