/** Starts sandboxes by their command, as child processes in temporary folders. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { OpenContextOptions, Target } from './suite-context.ts';

export interface OwnSandboxes {
  readonly options: Pick<OpenContextOptions, 'target' | 'hasty' | 'otherEnvironment'>;
  close(): Promise<void>;
}

export interface OwnSandboxesOptions {
  /** How long an endpoint has to answer (spec 8: 30 seconds). */
  readonly responseLimitSeconds: number;
}

interface Started {
  readonly target: Target;
  close(): Promise<void>;
}

const COMMAND = join(import.meta.dirname, '../..', 'bin', 'billsync');
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

/** One with the lifetimes of the specification, and one that is in a hurry (see HastyService). */
export async function startOwnSandboxes({
  responseLimitSeconds,
}: OwnSandboxesOptions): Promise<OwnSandboxes> {
  const limit = ['--delivery-timeout', String(responseLimitSeconds)];
  const hurry = [
    '--token-lifetime',
    '2',
    '--url-lifetime',
    '2',
    '--wire-prefix',
    'service',
    '--partner',
    'enterprise',
  ];
  const started = await Promise.all([start(limit), start([...limit, ...hurry])]);
  const [usual, hasty] = started;
  const { baseUrl, authUrl } = usual.target;
  return {
    options: {
      target: usual.target,
      hasty: hasty.target,
      otherEnvironment: { baseUrl: `${baseUrl}/production`, authUrl: `${authUrl}/production` },
    },
    close: async () => {
      await Promise.all(started.map((one) => one.close()));
    },
  };
}

async function start(flags: readonly string[]): Promise<Started> {
  const dataDir = await mkdtemp(join(tmpdir(), 'conformance-'));
  const args = [
    'sandbox',
    'serve',
    '--json',
    '--port',
    '0',
    '--storage-port',
    '0',
    '--data',
    dataDir,
    ...flags,
  ];
  const child = spawn(COMMAND, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const close = async () => {
    await stop(child);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    return { target: await addressesOf(child), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The one line of JSON that a sandbox prints when it is ready. */
async function addressesOf(child: ChildProcess): Promise<Target> {
  if (child.stdout === null || child.stderr === null) throw new Error('The sandbox has no output to read.');
  const words: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => words.push(line));
  const line = await new Promise<string>((resolve, reject) => {
    const fail = (why: string) =>
      reject(new Error(`The sandbox did not start: ${why} ${words.slice(-3).join(' ')}`));
    const timer = setTimeout(() => fail('it said nothing for a minute.'), START_TIMEOUT_MS);
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once('line', (text) => {
      clearTimeout(timer);
      resolve(text);
    });
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`it ended with ${code}.`);
    });
  });
  const addresses = JSON.parse(line) as Record<string, string>;
  const need = (name: string) => addresses[name] ?? '';
  return {
    baseUrl: need('base_url'),
    authUrl: need('auth_url'),
    clientId: need('client_id'),
    clientSecret: need('client_secret'),
    apiKey: need('api_key'),
    adminUrl: need('admin_url'),
    caPem: await readFile(need('ca_file'), 'utf8'),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await gone;
  clearTimeout(timer);
}
