import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Server } from 'node:https';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type CertificatePair, readCertificatePair } from '../lib/config/certificate-files.ts';
import type { Settings } from '../lib/config/settings.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import { makeFolder, replaceDurably } from '../lib/files/durable-files.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';

export interface CertificateFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

const VALID_DAYS = 825;
const RENEW_BEFORE_MS = 30 * 86_400_000;
const CHECK_EVERY_MS = 1_000;

export async function prepareCertificate(
  settings: Pick<Settings, 'dataDir' | 'webhook'>,
  log: Logger,
): Promise<CertificateFiles> {
  const { tlsCert, tlsKey } = settings.webhook;
  if (tlsCert !== null && tlsKey !== null) return { certPath: tlsCert, keyPath: tlsKey };
  const keys = dataFolder(settings.dataDir).keys;
  const files = { certPath: join(keys, 'webhook-cert.pem'), keyPath: join(keys, 'webhook-key.pem') };
  if (!isUsable(files)) {
    await makeFolder(keys);
    const { key, cert } = await selfSigned();
    await replaceDurably(files.keyPath, key);
    await replaceDurably(files.certPath, cert);
  }
  log.warn(
    { certificate: files.certPath },
    'the endpoint uses a self-signed certificate; set BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY',
  );
  return files;
}

export function measureCertificate({ certPath }: CertificateFiles, metrics: Metrics): void {
  const expiry = metrics.gauge('webhook_certificate_expiry_timestamp_seconds');
  metrics.beforeRead(async () => {
    expiry.set(Date.parse(new X509Certificate(await readFile(certPath)).validTo) / 1_000);
  }, 60_000);
}

export function readCertificate({ certPath, keyPath }: CertificateFiles): CertificatePair {
  return readCertificatePair(
    { setting: 'BILLSYNC_WEBHOOK_TLS_CERT', path: certPath },
    { setting: 'BILLSYNC_WEBHOOK_TLS_KEY', path: keyPath },
  );
}

/** A pair that does not match (half of a rotation) is logged once; the server keeps the old pair meanwhile. */
export function reloadCertificate(server: Server, files: CertificateFiles, log: Logger): () => void {
  let seen: string | null = null;
  async function check(): Promise<void> {
    const current = await fingerprint(files);
    const isChanged = seen !== null && current !== seen;
    seen = current;
    if (!isChanged) return;
    try {
      const { cert, key } = readCertificate(files);
      server.setSecureContext({ cert, key });
      log.info({ certificate: files.certPath }, 'the certificate was reloaded');
    } catch (error) {
      log.warn({ err: error }, 'the changed certificate cannot be used; the old one stays');
    }
  }
  const timer = setInterval(() => void check(), CHECK_EVERY_MS).unref();
  void check();
  return () => clearInterval(timer);
}

async function fingerprint({ certPath, keyPath }: CertificateFiles): Promise<string> {
  const parts = [certPath, keyPath].map(async (path) => {
    const file = await stat(path).catch(() => null);
    return file === null ? 'missing' : `${file.mtimeMs}/${file.ino}/${file.size}`;
  });
  return (await Promise.all(parts)).join(' ');
}

function isUsable(files: CertificateFiles): boolean {
  try {
    const { validTo } = readCertificate(files).certificate;
    return Date.parse(validTo) - Date.now() > RENEW_BEFORE_MS;
  } catch {
    return false;
  }
}

async function selfSigned(): Promise<{ cert: string; key: string }> {
  // The module is imported on demand, because it has hundreds of files that most starts do not need.
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
