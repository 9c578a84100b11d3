import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { PartnerKind } from '../model.ts';
import { createTlsMaterial, type ServiceKeys } from '../security/tls.ts';

export interface Addresses {
  readonly pid: number;
  readonly adminUrl: string;
  readonly caFile: string;
}

export class DataDirLockedError extends Error {
  override readonly name = 'DataDirLockedError';

  constructor(dataDir: string, pid: number) {
    super(`The folder ${dataDir} belongs to a sandbox that is running as process ${pid}.`);
  }
}

/** null when no sandbox runs there, or its file cannot be read. */
export function readAddresses(dataDir: string): Addresses | null {
  try {
    return JSON.parse(readFileSync(addressFile(dataDir), 'utf8')) as Addresses;
  } catch {
    return null;
  }
}

export function writeAddresses(dataDir: string, addresses: Addresses): void {
  writeFileSync(addressFile(dataDir), `${JSON.stringify(addresses)}\n`, { mode: 0o600 });
}

export function removeAddresses(dataDir: string): void {
  rmSync(addressFile(dataDir), { force: true });
}

/**
 * The file of a killed process names an ended process, or a later one with the same id that does not listen there.
 * @throws DataDirLockedError when the sandbox that wrote it still answers
 */
export async function assertUnlocked(dataDir: string): Promise<void> {
  const addresses = readAddresses(dataDir);
  if (addresses === null || !isAlive(addresses.pid)) return;
  if (await listens(new URL(addresses.adminUrl))) throw new DataDirLockedError(dataDir, addresses.pid);
}

function addressFile(dataDir: string): string {
  return join(dataDir, 'running.json');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function listens({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    const settle = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(1_000, () => settle(false));
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}

// Credentials, ids and tenants follow from the seed, so a restart has to use the same one.

export interface FolderSettings {
  readonly seed: number;
  readonly partnerKind: PartnerKind;
  readonly wirePrefix: string;
  /** The given seed, else a random one, so that no two machines share credentials. */
  readonly credentialSeed: number | string;
}

export class FolderSettingsError extends Error {
  override readonly name = 'FolderSettingsError';
}

const DEFAULTS = { seed: 1, partnerKind: '3pl', wirePrefix: 'shipium' } as const;

/** @throws FolderSettingsError when the folder was made with another seed or kind of partner */
export function openFolderSettings(
  dataDir: string,
  requested: Partial<Omit<FolderSettings, 'credentialSeed'>>,
): FolderSettings {
  const path = join(dataDir, 'settings.json');
  const stored = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as FolderSettings) : null;
  for (const [name, flag] of [
    ['seed', 'seed'],
    ['partnerKind', 'partner'],
  ] as const) {
    const value = requested[name];
    if (stored === null || value === undefined || value === stored[name]) continue;
    throw new FolderSettingsError(
      `The folder ${dataDir} was made with --${flag} ${stored[name]}, not with ${value}.`,
    );
  }
  const seed = requested.seed ?? stored?.seed ?? DEFAULTS.seed;
  const newCredentialSeed = requested.seed ?? randomBytes(16).toString('hex');
  const settings = {
    seed,
    credentialSeed: stored?.credentialSeed ?? newCredentialSeed,
    partnerKind: requested.partnerKind ?? stored?.partnerKind ?? DEFAULTS.partnerKind,
    wirePrefix: requested.wirePrefix ?? stored?.wirePrefix ?? DEFAULTS.wirePrefix,
  };
  if (!/^[a-z][A-Za-z0-9]*$/.test(settings.wirePrefix)) {
    throw new FolderSettingsError(`The prefix "${settings.wirePrefix}" cannot start the name of a field.`);
  }
  writeFileSync(path, `${JSON.stringify(settings)}\n`, { mode: 0o600 });
  return settings;
}

/**
 * Keys and certificate are created once for a data folder, so that clients keep trusting it and URLs stay valid across restarts.
 */
export async function openKeys(dataDir: string, host: string): Promise<ServiceKeys> {
  const path = join(dataDir, 'keys.json');
  if (existsSync(path)) {
    const stored = JSON.parse(readFileSync(path, 'utf8')) as ServiceKeys & { host: string };
    if (stored.host === host) return stored;
  }
  const tls = await createTlsMaterial(host === '127.0.0.1' ? [] : [host]);
  const keys = { ...tls, signingSecret: randomBytes(32).toString('hex'), host };
  writeFileSync(path, JSON.stringify(keys), { mode: 0o600 });
  return keys;
}
