/**
 * Checks of `doctor` that connect: to the billing service, to its clock, to the endpoint. A check returns a finding,
 * or throws its failure.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Agent, request } from 'undici';
import { openArchive, openArchiveBucket } from '../../archive/open-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { isBillingError } from '../../billing/errors.ts';
import { createHttp } from '../../billing/http.ts';
import { readCertificatePair } from '../../lib/config/certificate-files.ts';
import { DEFAULT_FILE_NAME } from '../../lib/config/find-setting.ts';
import { NOT_SET, requireService, type Settings, SettingsError } from '../../lib/config/settings.ts';
import {
  CLOCK_HINT,
  compareClocks,
  describeDifferences,
  differing,
  MAX_STARTED_MS,
  MAX_UNALERTED_MS,
  WrongClockError,
} from '../../lib/health/clocks.ts';
import { SOON_MS } from '../../lib/health/watch-expiry.ts';
import { isAlive } from '../../lib/processes.ts';
import { CliError, EXIT } from '../errors.ts';
import { readRunFile } from '../roles/run-file.ts';

export interface Finding {
  readonly result: 'ok' | 'note' | 'failed';
  readonly detail: string;
  readonly hint: string | null;
}

export interface Check {
  readonly name: string;
  /** Writes to the data folder, so it is skipped when that check failed. */
  readonly isInFolder: boolean;
  readonly run: (settings: Settings) => Promise<Finding>;
}

export function ok(detail: string): Finding {
  return { result: 'ok', detail, hint: null };
}

export function note(detail: string, hint: string): Finding {
  return { result: 'note', detail, hint };
}

const SERVICE_TIMEOUT_MS = 30_000;

export async function checkService(settings: Settings): Promise<Finding> {
  await checkCa(settings.service.caFile);
  if (settings.service.baseUrl === null) {
    const up = readRunFile(settings, 'up');
    const playsAt = up !== null && isAlive(up.pid) ? up.addresses.sandbox : undefined;
    if (playsAt !== undefined) return ok(`the sandbox of \`billsync up\` (pid ${up?.pid}) at ${playsAt}`);
    throw new CliError(EXIT.usage, 'not configured: reports and imports work, events are not processed', {
      hint: existsSync(resolve(process.env.BILLSYNC_CONFIG || DEFAULT_FILE_NAME))
        ? 'set base_url, auth_url, client_id and the client secret in the settings file'
        : '`billsync init` writes a settings file; `billsync up --sandbox` runs without a service',
    });
  }
  requireService(settings);
  const archive = await openArchive(settings);
  const service = createBillingService({ settings, archive });
  try {
    const signal = AbortSignal.timeout(SERVICE_TIMEOUT_MS);
    const { secondsLeft } = await service.fetchToken({ signal });
    const token = secondsLeft === null ? 'API key' : `token valid for ${Math.round(secondsLeft)} s`;
    const partner = service.partnerIds().join(', ') || 'unknown';
    const found = `${settings.service.baseUrl} answers, ${token}, partner ${partner}`;
    const refusal = await pingRefusal(service, signal);
    if (refusal === null) return ok(found);
    return note(`${found}; ping: ${refusal}`, 'ping is optional; invoices are fetched without it');
  } finally {
    await service.close();
    await archive.close();
  }
}

/** Optional: an account may lack the scope, or the service the endpoint, and nothing else needs ping (spec 4.2). */
async function pingRefusal(service: BillingService, signal: AbortSignal): Promise<string | null> {
  try {
    await service.ping({ signal });
    return null;
  } catch (error) {
    if (isBillingError(error, 'refused', 'forbidden')) return error.message;
    throw error;
  }
}

/** Compares this machine's clock with the clocks that a start compares it with. */
export async function checkClock({ service, archive }: Settings): Promise<Finding> {
  const { baseUrl } = service;
  const http = createHttp({ ...service, connectionsPerHost: 1 });
  const bucket = archive.kind === 's3' ? await openArchiveBucket(archive.url) : null;
  try {
    const clocks = [...(baseUrl === null ? [] : [http.clock]), ...(bucket === null ? [] : [bucket.clock])];
    if (clocks.length === 0) return ok('no server to compare with');
    const compared = await compareClocks(clocks, { includesUnknown: true });
    // Checks of the service and the archive report why they do not answer.
    if (compared.length === 0) return { result: 'note', detail: 'skipped: no server answers', hint: null };
    const wrong = differing(compared, MAX_UNALERTED_MS);
    if (wrong.length === 0)
      return ok(`agrees with that of ${compared.map(({ name }) => name).join(' and ')}`);
    if (differing(wrong, MAX_STARTED_MS).length === 0) return note(describeDifferences(wrong), CLOCK_HINT);
    throw new WrongClockError(wrong);
  } finally {
    bucket?.close();
    await http.close();
  }
}

/** @throws CliError (exit 2) the file is not there or holds no certificate */
async function checkCa(caFile: string | null): Promise<void> {
  if (caFile === null) return;
  const hint = 'BILLSYNC_CA_FILE must name a PEM file with the certificate of a CA';
  let pem: string;
  try {
    pem = await readFile(caFile, 'utf8');
  } catch (error) {
    throw new CliError(EXIT.usage, 'the CA file cannot be read', { subject: caFile, hint, cause: error });
  }
  try {
    new X509Certificate(pem);
  } catch (error) {
    throw new CliError(EXIT.usage, 'the CA file contains no certificate', {
      subject: caFile,
      hint,
      cause: error,
    });
  }
}

const [CERT, KEY] = ['BILLSYNC_CLIENT_CERT', 'BILLSYNC_CLIENT_KEY'] as const;

/** @throws SettingsError, CliError (exit 1) it is not valid now */
export async function checkClientCertificate({
  service,
}: {
  readonly service: Pick<Settings['service'], 'clientCert' | 'clientKey'>;
}): Promise<Finding> {
  const { clientCert, clientKey } = service;
  if (clientCert === null && clientKey === null) return ok('not configured; only some services request one');
  if (clientCert === null || clientKey === null) {
    throw new SettingsError([{ setting: clientCert === null ? CERT : KEY, message: NOT_SET }]);
  }
  const { certificate } = readCertificatePair(
    { setting: CERT, path: clientCert },
    { setting: KEY, path: clientKey },
  );
  const [from, until] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  const name = `${clientCert} (${certificate.subject.replaceAll('\n', ', ')})`;
  if (until.getTime() < Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the client certificate has expired', {
      subject: `it was valid until ${until.toISOString()}: ${name}`,
      hint: 'renew it and restart the worker',
    });
  }
  if (from.getTime() > Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the client certificate is not valid yet', {
      subject: `it is valid from ${from.toISOString()}: ${name}`,
      hint: 'use one that is valid now, or set the clock of this machine',
    });
  }
  if (until.getTime() - Date.now() < SOON_MS) {
    return note(`${name} expires ${until.toISOString()}`, 'renew it and restart the worker');
  }
  return ok(`${name}, valid until ${until.toISOString()}`);
}

export async function checkEndpoint(settings: Settings): Promise<Finding> {
  const { credentials, tls, tlsCert, tlsKey, path, open } = settings.webhook;
  const certificate =
    tls && tlsCert !== null && tlsKey !== null ? await readCertificate(tlsCert, tlsKey) : null;
  const url = await runningEndpoint(settings);
  const state = url === null ? `not running; would serve ${path}` : `${url} answers`;
  if (url === null && credentials.basicAuth.length === 0 && credentials.headers.length === 0) {
    return note(
      `${state} ${open === true ? 'to any sender' : 'to this machine only'}: no credentials are configured`,
      'set BILLSYNC_WEBHOOK_BASIC_AUTH to the user:password that the service sends (or BILLSYNC_WEBHOOK_HEADERS)',
    );
  }
  if (certificate !== null && Date.parse(certificate.validTo) < Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the certificate has expired, so the service cannot deliver', {
      subject: `it was valid until ${new Date(certificate.validTo).toISOString()}: ${tlsCert}`,
      hint: 'renew it; a running endpoint reloads the files automatically',
    });
  }
  if (certificate !== null && Date.parse(certificate.validFrom) > Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the certificate is not valid yet, so the service cannot deliver', {
      subject: `it is valid from ${new Date(certificate.validFrom).toISOString()}: ${tlsCert}`,
      hint: 'use one that is valid now, or set the clock of this machine; a running endpoint reloads the files automatically',
    });
  }
  if (certificate !== null && Date.parse(certificate.validTo) - Date.now() < SOON_MS) {
    return note(
      `${state}, certificate expires ${new Date(certificate.validTo).toISOString()}`,
      'renew it; the endpoint reloads the files automatically',
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
        hint: 'correct the path, or unset both settings for a self-signed certificate',
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
    throw wrongPair(certPath, error);
  }
  throw wrongPair(certPath, null);
}

function wrongPair(certPath: string, cause: unknown): CliError {
  return new CliError(EXIT.usage, 'the key does not belong to the certificate', {
    subject: certPath,
    hint: 'BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY must name PEM files of the same pair',
    cause,
  });
}

/** @returns where a running endpoint of this data folder answers; null when none runs. @throws CliError it is unhealthy */
async function runningEndpoint(settings: Settings): Promise<string | null> {
  const left = [readRunFile(settings, 'up'), readRunFile(settings, 'webhook')].find(
    // A killed role leaves its file behind.
    (file) => file !== null && isAlive(file.pid),
  );
  const url = left?.addresses.webhook ?? null;
  if (url !== null) await checkHealth(url);
  return url;
}

async function checkHealth(url: string): Promise<void> {
  // The certificate is not verified: whether the endpoint answers is the question.
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false, timeout: 5_000 } });
  try {
    const answer = await request(new URL('/healthz', url), { dispatcher, headersTimeout: 5_000 });
    await answer.body.dump();
    if (answer.statusCode === 200) return;
    throw new CliError(EXIT.checkFailed, `the endpoint answers ${answer.statusCode}`, {
      subject: url,
      hint: 'the inbox cannot be written: check disk space and permissions of the data folder',
    });
  } finally {
    await dispatcher.close();
  }
}
