/** Tries the endpoint: the running one by asking it, one that is to run by its certificate and credentials. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import type { Settings } from '../../lib/config/settings.ts';
import { SOON_MS } from '../../lib/health/watch-expiry.ts';
import { isAlive } from '../../lib/processes.ts';
import { CliError, EXIT } from '../errors.ts';
import { readRunFile } from '../roles/run-file.ts';
import { type Finding, note, ok } from './finding.ts';

export async function checkEndpoint(settings: Settings): Promise<Finding> {
  const { credentials, tls, tlsCert, tlsKey, path, open } = settings.webhook;
  const certificate =
    tls && tlsCert !== null && tlsKey !== null ? await readCertificate(tlsCert, tlsKey) : null;
  const url = await runningEndpoint(settings);
  const state = url === null ? `not running; would serve ${path}` : `${url} answers`;
  if (url === null && credentials.basicAuth.length === 0 && credentials.headers.length === 0) {
    return note(
      `${state} ${open === true ? 'to anybody' : 'to this machine only'}: no credentials are set`,
      'set BILLSYNC_WEBHOOK_BASIC_AUTH to the user:password that the service sends (or BILLSYNC_WEBHOOK_HEADERS)',
    );
  }
  if (certificate !== null && Date.parse(certificate.validTo) < Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the certificate has expired: the service delivers nothing', {
      subject: `it was valid until ${new Date(certificate.validTo).toISOString()}: ${tlsCert}`,
      hint: 'renew it; a running endpoint reloads the files automatically',
    });
  }
  if (certificate !== null && Date.parse(certificate.validFrom) > Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the certificate is not valid yet: the service delivers nothing', {
      subject: `it will be from ${new Date(certificate.validFrom).toISOString()}: ${tlsCert}`,
      hint: 'take one that is valid now, or set the clock of this machine; a running endpoint reloads the files automatically',
    });
  }
  if (certificate !== null && Date.parse(certificate.validTo) - Date.now() < SOON_MS) {
    return note(
      `${state}, certificate ends ${new Date(certificate.validTo).toISOString()}`,
      'renew it: the service delivers only to a valid one; the endpoint reloads the files automatically',
    );
  }
  if (tls && certificate === null) {
    return note(
      `${state}, certificate self-signed`,
      'set BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY',
    );
  }
  return ok(state);
}

/** @throws CliError (exit 2) */
async function readCertificate(certPath: string, keyPath: string): Promise<X509Certificate> {
  const read = (path: string, setting: string) =>
    readFile(path).catch((error: unknown) => {
      throw new CliError(EXIT.usage, `${setting} cannot be read`, {
        subject: path,
        hint: 'correct the path, or unset both for a self-signed certificate',
        cause: error,
      });
    });
  const [cert, key] = [
    await read(certPath, 'BILLSYNC_WEBHOOK_TLS_CERT'),
    await read(keyPath, 'BILLSYNC_WEBHOOK_TLS_KEY'),
  ];
  try {
    const certificate = new X509Certificate(cert);
    if (certificate.checkPrivateKey(createPrivateKey(key))) return certificate;
  } catch (error) {
    throw unfit(certPath, error);
  }
  throw unfit(certPath, null);
}

function unfit(certPath: string, cause: unknown): CliError {
  return new CliError(EXIT.usage, 'certificate and key are no pair', {
    subject: certPath,
    hint: 'BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY name PEM files that belong together',
    cause,
  });
}

/** @returns where a running endpoint of this data folder answers; null when none runs. @throws CliError it is ill */
async function runningEndpoint(settings: Settings): Promise<string | null> {
  const left = [readRunFile(settings, 'up'), readRunFile(settings, 'webhook')].find(
    // A role that was killed leaves its note behind.
    (file) => file !== null && isAlive(file.pid),
  );
  const url = left?.addresses.webhook ?? null;
  if (url !== null) await askHealth(url);
  return url;
}

async function askHealth(url: string): Promise<void> {
  // Our own endpoint, on this machine, with the certificate of its operator's choice: whether it answers is the question.
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false, timeout: 5_000 } });
  try {
    const answer = await request(new URL('/healthz', url), { dispatcher, headersTimeout: 5_000 });
    await answer.body.dump();
    if (answer.statusCode === 200) return;
    throw new CliError(EXIT.checkFailed, `the endpoint answers ${answer.statusCode}`, {
      subject: url,
      hint: 'the inbox cannot be written: look at disk space and rights of the data folder',
    });
  } finally {
    await dispatcher.close();
  }
}
