/** Tries the billing service as the worker would: its certificate, its token, and whether its clock is ours. */

import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openArchive, openArchiveBucket } from '../../archive/open-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { isBillingError } from '../../billing/errors.ts';
import { createHttp } from '../../billing/http.ts';
import { DEFAULT_FILE_NAME } from '../../lib/config/find-setting.ts';
import { requireService, type Settings } from '../../lib/config/settings.ts';
import {
  CLOCK_HINT,
  compareClocks,
  describeDifferences,
  differing,
  MAX_STARTED_MS,
  MAX_UNALERTED_MS,
  WrongClockError,
} from '../../lib/health/clocks.ts';
import { isAlive } from '../../lib/processes.ts';
import { CliError, EXIT } from '../errors.ts';
import { readRunFile } from '../roles/run-file.ts';
import { type Finding, note, ok } from './finding.ts';

const PATIENCE_MS = 30_000;

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
    if (clocks.length === 0) return ok('no service to compare with');
    const compared = await compareClocks(clocks, { asksAll: true });
    // Checks of the service and the archive report why they do not answer.
    if (compared.length === 0) return { result: 'note', detail: 'not tried: no server answers', hint: null };
    const wrong = differing(compared, MAX_UNALERTED_MS);
    if (wrong.length === 0) return ok(`as that of ${compared.map(({ name }) => name).join(' and ')}`);
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
