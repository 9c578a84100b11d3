/** Asks the processes that run for this data folder how they are: what they know of themselves no look from outside tells. */

import { request } from 'undici';
import type { Settings } from '../../lib/config/settings.ts';
import { isAlive } from '../../lib/processes.ts';
import { basicAuth } from '../roles/basic-auth.ts';
import { readRunFile } from '../roles/run-file.ts';
import { type Finding, note, ok } from './finding.ts';

const PATIENCE_MS = 5_000;
/** Told by checks of their own, with their exit codes. */
const TOLD_ELSEWHERE = new Set(['temporal', 'forwarder']);

export async function checkRunning(settings: Settings): Promise<Finding> {
  const running = ['up', 'worker', 'webhook']
    .map((role) => readRunFile(settings, role))
    .filter((file) => file !== null && isAlive(file.pid));
  if (running.length === 0) return ok('none runs for this data folder');
  const unwell: string[] = [];
  for (const file of running) {
    const address = file?.addresses.dashboard ?? file?.addresses.probes;
    if (file === null || address === undefined) continue;
    unwell.push(...(await complaintsOf(file.role, address, settings)));
  }
  const names = running.map((file) => `${file?.role} (pid ${file?.pid})`).join(', ');
  if (unwell.length === 0) return ok(`${names}: healthy`);
  return { ...note(`${names}: ${unwell.join('; ')}`, 'the log of that process says more'), result: 'failed' };
}

async function complaintsOf(role: string, address: string, { admin }: Settings): Promise<readonly string[]> {
  const headers =
    admin.basicAuth === null
      ? {}
      : { authorization: basicAuth(admin.basicAuth.user, admin.basicAuth.password) };
  try {
    const { body } = await request(new URL('/readyz', address), {
      headers,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { components = {} } = (await body.json()) as {
      components?: Record<string, { isHealthy: boolean; detail: string }>;
    };
    return Object.entries(components)
      .filter(([name, { isHealthy }]) => !isHealthy && !TOLD_ELSEWHERE.has(name))
      .map(([name, { detail }]) => `${name}: ${detail}`);
  } catch {
    return [`${role} does not answer at ${address}`];
  }
}
