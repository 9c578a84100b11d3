import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Account } from './account.ts';
import { startListeners } from './http/listeners.ts';
import type { Environment, PartnerKind } from './model.ts';
import { type SandboxAccount, sandboxAccount } from './sandbox-account.ts';
import {
  assertUnlocked,
  openFolderSettings,
  openKeys,
  removeAddresses,
  writeAddresses,
} from './state/data-folder.ts';

export interface SandboxOptions {
  /** The folder of the sandbox's state; without it, a temporary folder that `close` removes. */
  readonly dataDir?: string;
  /** 0 takes a free one. Default: the port of the last start if it is free. */
  readonly port?: number;
  readonly storagePort?: number;
  readonly host?: string;
  /** With true, other machines may use the admin API and the page, which show the credentials. */
  readonly adminOpen?: boolean;
  /** false: tokens and ping work, nothing of billing does (spec 1). */
  readonly hasBilling?: boolean;
  /** Without a seed or kind of partner, those with which the folder was made are used; a new folder has seed 1 and `3pl`. */
  readonly seed?: number;
  readonly partnerKind?: PartnerKind;
  /** `shipium` gives `shipiumInvoiceId`, `service` the neutral spelling. */
  readonly wirePrefix?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly urlLifetimeSeconds?: number;
  readonly retryDelayMs?: number;
  readonly deliveryTimeoutMs?: number;
  readonly now?: () => Date;
}

export type { BilledRow } from './billed-rows.ts';
export type { SandboxAccount } from './sandbox-account.ts';

export interface Sandbox extends SandboxAccount {
  /** The sandbox itself is the test account (spec 5). */
  readonly production: SandboxAccount;
  readonly dataDir: string;
  close(): Promise<void>;
}

const DEFAULTS = {
  host: '127.0.0.1',
  adminOpen: false,
  hasBilling: true,
  tokenLifetimeSeconds: 3_600,
  urlLifetimeSeconds: 24 * 3_600,
  retryDelayMs: 5_000,
  deliveryTimeoutMs: 30_000,
  now: () => new Date(),
} as const;

/** @throws DataDirLockedError, FolderSettingsError (another seed or kind of partner), Error with code EADDRINUSE */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const isTemporary = options.dataDir === undefined;
  const dataDir = isTemporary ? mkdtempSync(join(tmpdir(), 'billing-sandbox-')) : resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await assertUnlocked(dataDir);
  const settings = { ...DEFAULTS, ...options, ...openFolderSettings(dataDir, options) };
  const keys = await openKeys(dataDir, settings.host);
  const caFile = join(dataDir, 'ca.pem');
  writeFileSync(caFile, keys.caPem);

  let storageUrl = '';
  const open = (environment: Environment) =>
    new Account({
      ...settings,
      environment,
      dataDir,
      signingSecret: keys.signingSecret,
      storageUrl: () => `${storageUrl}/exports-${environment}`,
    });
  const accounts = { test: open('test'), production: open('production') };
  const listeners = await startListeners({ ...settings, dataDir, accounts, keys });
  storageUrl = listeners.storageUrl;

  writeAddresses(dataDir, { pid: process.pid, adminUrl: `${listeners.apiUrl}/admin`, caFile });
  const addresses = { caFile, caPem: keys.caPem, storageUrl };
  const close = async () => {
    await listeners.close();
    await Promise.all([accounts.test.close(), accounts.production.close()]);
    removeAddresses(dataDir);
    if (isTemporary) rmSync(dataDir, { recursive: true, force: true });
  };
  return {
    ...sandboxAccount(accounts.test, { ...addresses, apiUrl: listeners.apiUrl }),
    production: sandboxAccount(accounts.production, {
      ...addresses,
      apiUrl: `${listeners.apiUrl}/production`,
    }),
    dataDir,
    close,
  };
}
