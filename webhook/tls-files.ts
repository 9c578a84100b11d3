/** The endpoint's certificate: the configured one, or a self-signed one that is made once and kept in the data folder. */

import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Server } from 'node:https';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Settings } from '../lib/config/settings.ts';
import { exists, makeFolder, replaceDurably } from '../lib/files/durable-files.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { naming } from '../lib/system-errors.ts';

export interface TlsFiles {
  readonly certPath: string;
  readonly keyPath: string;
  readonly isSelfSigned: boolean;
}

const VALID_DAYS = 825;
const RENEW_BEFORE_MS = 30 * 86_400_000;
const LOOK_EVERY_MS = 1_000;
/** In the place of a fingerprint: there are no files to take one of. */
const GONE = 'gone';

/** Finds the files, making a self-signed pair under `keys/` when none is configured or the old one is about to end. */
export async function prepareTlsFiles(
  settings: Pick<Settings, 'dataDir' | 'webhook'>,
  log: Logger,
): Promise<TlsFiles> {
  const { tlsCert, tlsKey } = settings.webhook;
  if (tlsCert !== null && tlsKey !== null) {
    return { certPath: tlsCert, keyPath: tlsKey, isSelfSigned: false };
  }
  const keys = join(settings.dataDir, 'keys');
  const certPath = join(keys, 'webhook-cert.pem');
  const keyPath = join(keys, 'webhook-key.pem');
  if (!(await isUsable(certPath, keyPath))) {
    await makeFolder(keys);
    const { key, cert } = await selfSigned();
    await replaceDurably(keyPath, key);
    await replaceDurably(certPath, cert);
  }
  log.warn(
    { certificate: certPath },
    'the endpoint uses a self-signed certificate; set BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY',
  );
  return { certPath, keyPath, isSelfSigned: true };
}

/** Until when the certificate at hand is valid, looked up once a minute. */
export function measureCertificate({ certPath }: TlsFiles, metrics: Metrics): void {
  const expiry = metrics.gauge('webhook_certificate_expiry_timestamp_seconds');
  metrics.beforeRead(async () => {
    expiry.set(Date.parse(new X509Certificate(await readFile(certPath)).validTo) / 1_000);
  }, 60_000);
}

export async function readTlsFiles(files: TlsFiles): Promise<{ cert: Buffer; key: Buffer }> {
  const read = (path: string) => readFile(path).catch(naming(path));
  // One after the other: of two that are missing it is always the certificate that is named.
  const cert = await read(files.certPath);
  return { cert, key: await read(files.keyPath) };
}

/**
 * Gives the server a changed certificate without a restart. A pair that does not fit (half of a rotation) is left
 * alone and looked at again; connections go on with the old one.
 *
 * @returns stops looking
 */
export function reloadTlsFiles(server: Server, files: TlsFiles, log: Logger): () => void {
  let loaded: string | null = null;
  /** What was last refused and told; told again only once it has changed. */
  let refused: string | null = null;
  async function look(): Promise<void> {
    const seen = await fingerprint(files);
    if (loaded === null) loaded = seen;
    if (refused === GONE) refused = null;
    if (seen === loaded) return;
    try {
      const pair = await readTlsFiles(files);
      createSecureContext(pair);
      server.setSecureContext(pair);
      loaded = seen;
      log.info({ certificate: files.certPath }, 'the certificate was reloaded');
    } catch (error) {
      if (refused !== seen)
        log.warn({ err: error }, 'the changed certificate cannot be used; the old one stays');
      refused = seen;
    }
  }
  const timer = setInterval(() => {
    look().catch((error: unknown) => {
      if (refused !== GONE) log.warn({ err: error }, 'the certificate cannot be read; the old one stays');
      refused = GONE;
    });
  }, LOOK_EVERY_MS);
  timer.unref();
  look().catch(() => undefined);
  return () => clearInterval(timer);
}

async function fingerprint(files: TlsFiles): Promise<string> {
  const parts = await Promise.all([stat(files.certPath), stat(files.keyPath)]);
  return parts.map(({ mtimeMs, ino, size }) => `${mtimeMs}/${ino}/${size}`).join(' ');
}

async function isUsable(certPath: string, keyPath: string): Promise<boolean> {
  if (!exists(certPath) || !exists(keyPath)) return false;
  try {
    const [cert, key] = await Promise.all([readFile(certPath), readFile(keyPath)]);
    createSecureContext({ cert, key });
    return Date.parse(new X509Certificate(cert).validTo) - Date.now() > RENEW_BEFORE_MS;
  } catch {
    // Whatever is wrong with a pair that we made ourselves, a new one is the cure.
    return false;
  }
}

async function selfSigned(): Promise<{ cert: string; key: string }> {
  // Hundreds of files that only a start without a certificate needs.
  const { generate } = await import('selfsigned');
  const now = Date.now();
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'billsync webhook' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - 86_400_000),
    notAfterDate: new Date(now + VALID_DAYS * 86_400_000),
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 2, value: hostname() },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  });
  return { cert, key };
}
