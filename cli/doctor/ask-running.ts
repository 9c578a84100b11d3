import { request } from 'undici';
import type { Settings } from '../../lib/config/settings.ts';
import type { ComponentHealth, HealthReport } from '../../lib/health/health.ts';
import { isAlive } from '../../lib/processes.ts';
import { type RunFile, readRunFile } from '../roles/run-file.ts';
import { basicAuth } from '../roles/run-role.ts';
import { type Finding, ok } from './connection-checks.ts';

const ANSWERS_WITHIN_MS = 5_000;

export interface Running {
  readonly finding: Finding;
  /** The finding of a running process about one of its components; null: no process looks at it. */
  readonly says: (component: string) => Finding | null;
}

/**
 * Asks each process of the data folder what it has found itself (`/readyz`).
 * @param named components of which another finding speaks, so that `finding` does not repeat them
 */
export async function askRunning(settings: Settings, named: ReadonlySet<string>): Promise<Running> {
  const running = ['up', 'worker', 'webhook']
    .map((role) => readRunFile(settings, role))
    .filter((file): file is RunFile => file !== null && isAlive(file.pid));
  if (running.length === 0) return { finding: ok('none runs for this data folder'), says: () => null };
  const problems: string[] = [];
  const found = new Map<string, Finding>();
  for (const { role, pid, addresses } of running) {
    const address = addresses.dashboard ?? addresses.probes;
    if (address === undefined) continue;
    const components = await componentsAt(address, settings);
    if (components === null) problems.push(`${role} does not answer at ${address}`);
    for (const [name, { isHealthy, detail }] of Object.entries(components ?? {})) {
      if (!isHealthy && !named.has(name)) problems.push(`${name}: ${detail}`);
      if (found.get(name)?.result === 'failed') continue;
      const by = `says ${role} (pid ${pid})`;
      found.set(name, isHealthy ? ok(`healthy, ${by}`) : failedFinding(`${detail} (${by})`));
    }
  }
  const names = running.map(({ role, pid }) => `${role} (pid ${pid})`).join(', ');
  const finding =
    problems.length === 0 ? ok(`${names}: healthy`) : failedFinding(`${names}: ${problems.join('; ')}`);
  return { finding, says: (component) => found.get(component) ?? null };
}

function failedFinding(detail: string): Finding {
  return { result: 'failed', detail, hint: 'see the log of that process' };
}

/** Returns null when the process does not answer. */
async function componentsAt(
  address: string,
  { admin }: Settings,
): Promise<Readonly<Record<string, ComponentHealth>> | null> {
  const headers =
    admin.basicAuth === null
      ? {}
      : { authorization: basicAuth(admin.basicAuth.user, admin.basicAuth.password) };
  try {
    const { body } = await request(new URL('/readyz', address), {
      headers,
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    return ((await body.json()) as Partial<HealthReport>).components ?? {};
  } catch {
    return null;
  }
}
