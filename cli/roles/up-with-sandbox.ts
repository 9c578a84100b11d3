import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { keepPrivate } from '../../lib/files/private-folder.ts';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { contextOf } from '../verb.ts';
import { basicAuth, type RoleContext, type RunningRole, runRole } from './run-role.ts';
import { startUpRole } from './up-role.ts';

/** The `sandbox` verbs look for its state there (commands/sandbox.ts). */
export async function runWithSandbox(
  command: Command,
  overrides: Readonly<Record<string, string>>,
): Promise<void> {
  const { SANDBOX_DATA_DIR: chosen } = process.env;
  const { settings } = contextOf(command, overrides);
  await keepPrivate(settings.dataDir);
  const dataDir = chosen ? resolve(chosen) : join(settings.dataDir, 'sandbox');
  const sandbox = await startSandbox({ dataDir });
  const password = randomBytes(18).toString('base64url');
  try {
    await runRole(command, 'up', (context) => startBeside(sandbox, password, context), {
      ...sandboxSettings(sandbox),
      BILLSYNC_WEBHOOK_BASIC_AUTH: `sandbox:${password}`,
      ...overrides,
    });
  } finally {
    await sandbox.close();
  }
}

export function sandboxSettings(sandbox: Sandbox): Record<string, string> {
  return {
    BILLSYNC_ENVIRONMENT: 'test',
    BILLSYNC_BASE_URL: sandbox.baseUrl,
    BILLSYNC_AUTH_URL: sandbox.authUrl,
    BILLSYNC_CLIENT_ID: sandbox.clientId,
    BILLSYNC_CLIENT_SECRET: sandbox.clientSecret,
    BILLSYNC_CA_FILE: sandbox.caFile,
    BILLSYNC_PARTNER_ID: sandbox.partnerId,
    BILLSYNC_DOWNLOAD_HOSTS: new URL(sandbox.storageUrl).host,
    BILLSYNC_ALLOW_PRIVATE_HOSTS: 'true',
  };
}

export function registerEndpoint(
  sandbox: Sandbox,
  endpoint: { readonly name: string; readonly url: string; readonly user: string; readonly password: string },
): string {
  const { name, url, user, password } = endpoint;
  const settings = { name, url, headers: { authorization: basicAuth(user, password) } };
  const known = sandbox.webhooks().find((registration) => registration.name === name);
  const { registrationId } =
    known === undefined
      ? sandbox.registerWebhook({ ...settings, active: true })
      : sandbox.editWebhook(known.registrationId, settings);
  return registrationId;
}

async function startBeside(sandbox: Sandbox, password: string, context: RoleContext): Promise<RunningRole> {
  const running = await startUpRole(context);
  const url = running.addresses.webhook ?? '';
  registerEndpoint(sandbox, { name: 'billsync up', url, user: 'sandbox', password });
  return {
    addresses: { ...running.addresses, sandbox: sandbox.pageUrl },
    close: () => running.close(),
  };
}
