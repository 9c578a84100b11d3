/** The sandbox as it is published, in a process and a folder of its own, with its admin API at hand. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { builtProgram } from '../../scripts/built-program.ts';
import { cpuOf, peakOf } from './process-figures.ts';

export interface ServedSandbox {
  readonly agent: Agent;
  post(path: string, body?: object): Promise<unknown>;
  get(path: string): Promise<unknown>;
  /** CPU time that its process has used so far, in milliseconds (Linux). */
  cpuTime(): number;
  /** Most memory that its process ever held, in bytes (Linux). */
  peakMemory(): number;
  close(): Promise<void>;
}

export async function serveSandbox(): Promise<ServedSandbox> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-sandbox-'));
  const args = ['sandbox', 'serve', '--json', '--port', '0', '--storage-port', '0', '--data', dataDir];
  const child = spawn(await builtProgram(), args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const { admin_url: adminUrl, ca_file: caFile } = await readyLine(child);
  const agent = new Agent({
    connect: { ca: readFileSync(caFile, 'utf8') },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const call = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const json =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const answer = await request(`${adminUrl}${path}`, { method, dispatcher: agent, ...json });
    const text = await answer.body.text();
    if (answer.statusCode >= 400) throw new Error(`${path}: ${answer.statusCode} ${text}`);
    return text === '' ? null : (JSON.parse(text) as unknown);
  };
  return {
    agent,
    post: (path, body) => call('POST', path, body),
    get: (path) => call('GET', path),
    cpuTime: () => cpuOf(child.pid ?? 0),
    peakMemory: () => peakOf(child.pid ?? 0),
    close: async () => {
      await agent.destroy();
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function readyLine(child: ChildProcess): Promise<{ admin_url: string; ca_file: string }> {
  if (child.stdout === null) throw new Error('The sandbox has no output to read.');
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The sandbox ended with ${String(code)} before it was ready.`);
  });
  ended.catch(() => {}); // Later its end is wanted.
  const heard = once(createInterface({ input: child.stdout }), 'line');
  const [line] = (await Promise.race([heard, ended])) as [string];
  return JSON.parse(line) as { admin_url: string; ca_file: string };
}
