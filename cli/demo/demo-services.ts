/** What the demo plays on: a billing service of its own, everything of `billsync up`, and one registration between them. */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { loadSettings } from '../../lib/config/load-settings.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { createLogger } from '../../lib/log/log.ts';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { printError } from '../errors.ts';
import { basicAuth } from '../roles/basic-auth.ts';
import { createRoleContext, type RunningRole } from '../roles/run-role.ts';
import { startUpRole } from '../roles/up-role.ts';
import { sandboxSettings } from '../roles/up-with-sandbox.ts';
import type { Narrator } from './present.ts';

export interface DemoServicesOptions {
  readonly seed: number;
  readonly dataDir: string;
  /** Aborts when somebody wants the demo to end. */
  readonly stopping: AbortSignal;
}

export interface DemoServices {
  readonly settings: Settings;
  readonly sandbox: Sandbox;
  readonly running: RunningRole;
  readonly registrationId: string;
  close(): Promise<void>;
}

const WEBHOOK_USER = 'billing-service';

export async function openDemoServices(
  options: DemoServicesOptions,
  narrator: Narrator,
): Promise<DemoServices> {
  const { dataDir } = options;
  narrator.done('data folder', dataDir);
  const sandbox = await startSandbox({
    dataDir: join(dataDir, 'sandbox'),
    seed: options.seed,
    retryDelayMs: 500,
    tokenLifetimeSeconds: 20,
  });
  narrator.done('billing service', sandbox.pageUrl);
  // A demo that was killed may have left some; nothing but this story's may strike.
  sandbox.faults.clear();
  const password = randomBytes(18).toString('base64url');
  const settings = demoSettings({ dataDir, sandbox, password });
  const context = createRoleContext({
    settings,
    role: 'demo',
    log: createLogger(settings, 'demo'),
    fatal: (error) => process.exit(printError(error, { verbose: false })),
    stopping: options.stopping,
  });
  try {
    const running = await startUpRole(context);
    narrator.done('temporal', running.addresses.temporal ?? '');
    narrator.done('endpoint', running.addresses.webhook ?? '');
    narrator.done('dashboard', running.addresses.dashboard ?? '');
    const registrationId = register(sandbox, running, password);
    const close = async (): Promise<void> => {
      await running.close();
      await context.alerts.close();
      await sandbox.close();
    };
    return { settings, sandbox, running, registrationId, close };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** Nothing of the caller's settings reaches the demo but where logs go: it must never touch a real service. */
function demoSettings(demo: {
  readonly dataDir: string;
  readonly sandbox: Sandbox;
  readonly password: string;
}): Settings {
  return loadSettings({
    env: {},
    cwd: demo.dataDir,
    terminal: process.stderr.isTTY === true,
    flags: {
      ...sandboxSettings(demo.sandbox),
      BILLSYNC_DATA_DIR: demo.dataDir,
      BILLSYNC_WEBHOOK_HOST: '127.0.0.1',
      BILLSYNC_WEBHOOK_PORT: '0',
      BILLSYNC_WEBHOOK_BASIC_AUTH: `${WEBHOOK_USER}:${demo.password}`,
      BILLSYNC_ADMIN_PORT: '0',
      BILLSYNC_OVERDUE_AFTER: '3s,4s',
      // Troubles are what the demo is made of; the narrator tells of them, the log would tell of nothing else.
      LOG_LEVEL: process.env.LOG_LEVEL || 'silent',
    },
  });
}

function register(sandbox: Sandbox, running: RunningRole, password: string): string {
  const name = 'billsync demo';
  const settings = {
    name,
    url: running.addresses.webhook ?? '',
    headers: { authorization: basicAuth(WEBHOOK_USER, password) },
  };
  const known = sandbox.webhooks().find((registration) => registration.name === name);
  if (known === undefined) return sandbox.registerWebhook({ ...settings, active: true }).registrationId;
  return sandbox.editWebhook(known.registrationId, settings).registrationId;
}
