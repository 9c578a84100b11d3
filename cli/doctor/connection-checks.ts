import type { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { openArchive, openArchiveBucket } from '../../archive/open-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { isBillingError } from '../../billing/errors.ts';
import { createHttp } from '../../billing/http.ts';
import { readAuthorities, readCertificatePair } from '../../lib/config/certificate-files.ts';
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
import { SOON_MS } from '../../lib/health/expiry-checks.ts';
import { isAlive } from '../../lib/processes.ts';
import { CliError, EXIT } from '../errors.ts';
import { readRunFile } from '../roles/run-file.ts';
import { probeEndpoint } from '../roles/watch-endpoint.ts';

export interface Finding {
  readonly result: 'ok' | 'note' | 'failed';
  readonly detail: string;
  readonly hint: string | null;
}

export interface Check {
  readonly name: string;
  /** The component's name in `/readyz` of a running process, whose finding replaces the test. */
  readonly component?: string;
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
  const { caFile } = settings.service;
  if (caFile !== null) readAuthorities({ setting: 'BILLSYNC_CA_FILE', path: caFile });
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

/** An account may lack the scope, and nothing else needs ping (spec 4.2). */
async function pingRefusal(service: BillingService, signal: AbortSignal): Promise<string | null> {
  try {
    await service.ping({ signal });
    return null;
  } catch (error) {
    if (isBillingError(error, 'refused', 'forbidden')) return error.message;
    throw error;
  }
}

export async function checkClock({ service, archive }: Settings): Promise<Finding> {
  const { baseUrl } = service;
  const http = createHttp({ ...service, connectionsPerHost: 1 });
  const bucket = archive.kind === 's3' ? await openArchiveBucket(archive.url) : null;
  try {
    const clocks = [...(baseUrl === null ? [] : [http.clock]), ...(bucket === null ? [] : [bucket.clock])];
    if (clocks.length === 0) return ok('no server to compare with');
    const compared = await compareClocks(clocks, { includesUnknown: true });
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

export async function checkClientCertificate({
  service: { clientCert, clientKey },
}: {
  readonly service: Pick<Settings['service'], 'clientCert' | 'clientKey'>;
}): Promise<Finding> {
  const [cert, key] = ['BILLSYNC_CLIENT_CERT', 'BILLSYNC_CLIENT_KEY'] as const;
  if (clientCert === null && clientKey === null) return ok('not configured; only some services request one');
  if (clientCert === null || clientKey === null) {
    throw new SettingsError([{ setting: clientCert === null ? cert : key, message: NOT_SET }]);
  }
  const { certificate } = readCertificatePair(
    { setting: cert, path: clientCert },
    { setting: key, path: clientKey },
  );
  const name = `${clientCert} (${certificate.subject.replaceAll('\n', ', ')})`;
  const hint = 'renew it and restart the worker';
  const validTo = checkValidity(certificate, { what: 'the client certificate', name, hint });
  return isSoon(validTo) ? note(`${name} expires ${validTo}`, hint) : ok(`${name}, valid until ${validTo}`);
}

export async function checkEndpoint(settings: Settings): Promise<Finding> {
  const { credentials, tls, tlsCert, tlsKey, path, open } = settings.webhook;
  const certificate =
    tls && tlsCert !== null && tlsKey !== null
      ? readCertificatePair(
          { setting: 'BILLSYNC_WEBHOOK_TLS_CERT', path: tlsCert },
          { setting: 'BILLSYNC_WEBHOOK_TLS_KEY', path: tlsKey },
        ).certificate
      : null;
  const url = await runningEndpoint(settings);
  const state = url === null ? `not running; would serve ${path}` : `${url} answers`;
  if (url === null && credentials.basicAuth.length === 0 && credentials.headers.length === 0) {
    return note(
      `${state} ${open === true ? 'to any sender' : 'to this machine only'}: no credentials are configured`,
      'set BILLSYNC_WEBHOOK_BASIC_AUTH to the user:password that the service sends (or BILLSYNC_WEBHOOK_HEADERS)',
    );
  }
  if (certificate !== null) {
    const hint = 'renew it; a running endpoint reloads the files automatically';
    const what = "the endpoint's certificate";
    const validTo = checkValidity(certificate, { what, name: tlsCert ?? '', hint });
    if (isSoon(validTo)) return note(`${state}, certificate expires ${validTo}`, hint);
  }
  if (tls && certificate === null) {
    return note(
      `${state}, certificate self-signed`,
      'set BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY',
    );
  }
  return ok(state);
}

function checkValidity(
  { validFromDate, validToDate }: X509Certificate,
  { what, name, hint }: { readonly what: string; readonly name: string; readonly hint: string },
): string {
  if (validToDate.getTime() < Date.now()) {
    throw new CliError(EXIT.checkFailed, `${what} has expired`, {
      subject: `it was valid until ${validToDate.toISOString()}: ${name}`,
      hint,
    });
  }
  if (validFromDate.getTime() > Date.now()) {
    throw new CliError(EXIT.checkFailed, `${what} is not valid yet`, {
      subject: `it is valid from ${validFromDate.toISOString()}: ${name}`,
      hint: 'use one that is valid now, or set the clock of this machine',
    });
  }
  return validToDate.toISOString();
}

function isSoon(instant: string): boolean {
  return Date.parse(instant) - Date.now() < SOON_MS;
}

async function runningEndpoint(settings: Settings): Promise<string | null> {
  const running = [readRunFile(settings, 'up'), readRunFile(settings, 'webhook')].find(
    // A role that was killed leaves its file behind, which names an ended process.
    (file) => file !== null && isAlive(file.pid),
  );
  const url = running?.addresses.webhook;
  if (url === undefined) return null;
  const { isHealthy, detail } = await probeEndpoint(url);
  if (isHealthy) return url;
  throw new CliError(EXIT.checkFailed, detail, {
    hint: 'check disk space and permissions of the data folder, and the log of the endpoint',
  });
}
