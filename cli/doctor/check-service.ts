/** Tries the billing service as the worker would: its certificate, its token, and whether its clock is ours. */

import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openArchive } from '../../archive/open-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { RefusedError } from '../../billing/errors.ts';
import { createHttp } from '../../billing/http.ts';
import { requireService } from '../../config/check-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { DEFAULT_FILE_NAME } from '../../config/settings-file.ts';
import { isAlive } from '../../ops/process-identity.ts';
import { CliError, EXIT } from '../errors.ts';
import { readRunFile } from '../roles/run-file.ts';
import { type Finding, note, ok } from './finding.ts';

const PATIENCE_MS = 30_000;
/** The Date header has whole seconds, and an answer takes its time; presigned URLs and tokens survive less than this. */
const TOLERATED_SKEW_SECONDS = 60;

export async function checkService(settings: Settings): Promise<Finding> {
  await checkCa(settings.service.caFile);
  if (settings.service.baseUrl === null) {
    const up = readRunFile(settings, 'up');
    const playsAt = up !== null && isAlive(up.pid) ? up.addresses.sandbox : undefined;
    if (playsAt !== undefined) return ok(`the sandbox of \`billsync up\` (pid ${up?.pid}) at ${playsAt}`);
    throw new CliError(
      EXIT.usage,
      'none is configured: reports and imports work, events cannot be acted on',
      {
        hint: existsSync(resolve(process.env.BILLSYNC_CONFIG || DEFAULT_FILE_NAME))
          ? 'set base_url, auth_url, client_id and the client secret in the settings file'
          : '`billsync init` writes a settings file to fill in; to rehearse without a service: `billsync up --sandbox`',
      },
    );
  }
  requireService(settings);
  const archive = await openArchive(settings);
  const service = createBillingService({ settings, archive });
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { secondsLeft } = await service.fetchToken({ signal });
    const token = secondsLeft === null ? 'API key' : `token good for ${Math.round(secondsLeft)} s`;
    const partner = service.partnerIds().join(', ') || 'unknown';
    const found = `${settings.service.baseUrl} answers, ${token}, partner ${partner}`;
    const refusal = await pingRefusal(service, signal);
    if (refusal === null) return ok(found);
    return note(`${found}; ping: ${refusal}`, 'ping is optional: invoices are fetched without it');
  } finally {
    await service.close();
    await archive.close();
  }
}

/** An account may lack the scope for ping, or the service the endpoint: nothing else of ours asks it (spec 4.2). */
async function pingRefusal(service: BillingService, signal: AbortSignal): Promise<string | null> {
  try {
    await service.ping({ signal });
    return null;
  } catch (error) {
    if (error instanceof RefusedError) return error.message;
    throw error;
  }
}

/** Whether a URL has expired is decided by our own clock, so hours of difference make live URLs look dead, and dead ones alive. */
export async function checkClock({ service }: Settings): Promise<Finding> {
  if (service.baseUrl === null) return ok('no service to compare with');
  const http = createHttp({ ...service, connectionsPerHost: 1 });
  try {
    // At no endpoint, without credentials: whatever is answered, it carries the service's time.
    const url = service.baseUrl;
    const asked = Date.now();
    const answer = await http
      .send({ url, method: 'GET' }, { deadlineMs: PATIENCE_MS, maxBodyBytes: 1_000_000 })
      .catch(() => null);
    // Why it does not answer is said by the check of the service itself.
    if (answer === null)
      return { result: 'note', detail: 'not tried: the service does not answer', hint: null };
    const { headers } = answer;
    const theirs = Date.parse(headers.date ?? '');
    if (Number.isNaN(theirs)) return ok('the service does not say what time it is');
    const seconds = Math.round(((asked + Date.now()) / 2 - theirs) / 1000);
    if (Math.abs(seconds) <= TOLERATED_SKEW_SECONDS) return ok("as the service's");
    return note(
      `this machine's clock is ${duration(Math.abs(seconds))} ${seconds < 0 ? 'behind' : 'ahead of'} the service's`,
      'set the clock, e.g. with NTP: it decides whether a URL has expired',
    );
  } finally {
    await http.close();
  }
}

/** @throws CliError (exit 2) the file is not there or holds no certificate */
async function checkCa(caFile: string | null): Promise<void> {
  if (caFile === null) return;
  const hint = 'BILLSYNC_CA_FILE names a file with the certificate (PEM) of the CA to trust';
  let pem: string;
  try {
    pem = await readFile(caFile, 'utf8');
  } catch (error) {
    throw new CliError(EXIT.usage, 'the CA file cannot be read', { subject: caFile, hint, cause: error });
  }
  try {
    new X509Certificate(pem);
  } catch (error) {
    throw new CliError(EXIT.usage, 'the CA file holds no certificate', {
      subject: caFile,
      hint,
      cause: error,
    });
  }
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
