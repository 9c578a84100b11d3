/** What `doctor` tries, one check for each thing that can be wrong by itself. */

import { constants } from 'node:fs';
import { access, mkdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { openArchive } from '../archive/open-archive.js';
import { createBillingService } from '../billing/client.js';
import { requireService } from '../config/load-settings.js';
import type { Settings } from '../config/settings.js';
import { openInbox } from '../inbox/inbox.js';
import { openQuarantine } from '../inbox/quarantine-folder.js';
import { createLogger } from '../ops/log.js';
import { connectTemporal, readEmbeddedRecord } from '../temporal/connect.js';
import { temporalExecutable } from '../temporal/server-executable.js';
import { lockOwner } from '../warehouse/lock-file.js';
import { warehousePaths } from '../warehouse/paths.js';
import { checkEnvironment } from './environment-check.js';
import { CliError, EXIT } from './errors.js';
import { openPublished } from './published.js';
import { readRunFile } from './roles/run-role.js';

export interface Finding {
  readonly result: 'ok' | 'note' | 'failed';
  readonly detail: string;
  readonly hint: string | null;
}

export interface Check {
  readonly name: string;
  /** What it throws is what failed. */
  readonly run: (settings: Settings) => Promise<Finding>;
}

export const CHECKS: readonly Check[] = [
  { name: 'data folder', run: checkDataFolder },
  { name: 'archive', run: checkArchive },
  { name: 'billing service', run: checkService },
  { name: 'temporal', run: checkTemporal },
  { name: 'endpoint', run: checkEndpoint },
  { name: 'inbox', run: checkInbox },
  { name: 'warehouse', run: checkWarehouse },
  { name: 'published file', run: checkPublished },
  { name: 'quarantine', run: checkQuarantine },
];

const LEAST_FREE_BYTES = 1024 ** 3;

async function checkDataFolder(settings: Settings): Promise<Finding> {
  await checkEnvironment(settings);
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 });
  const probe = join(settings.dataDir, `.doctor-${process.pid}`);
  await writeFile(probe, 'x', { flush: true });
  await rm(probe);
  const { bavail, bsize } = await statfs(settings.dataDir);
  const freeGib = ((bavail * bsize) / 1024 ** 3).toFixed(1);
  const detail = `${settings.dataDir} can be written (${settings.environment}), ${freeGib} GiB free`;
  if (bavail * bsize < LEAST_FREE_BYTES) return note(detail, 'make room: without it nothing new can be kept');
  const { mode } = await stat(settings.dataDir);
  if ((mode & 0o077) !== 0)
    return note(`${detail}, others may look into it`, `chmod 700 ${settings.dataDir}`);
  return ok(detail);
}

async function checkArchive(settings: Settings): Promise<Finding> {
  const archive = await openArchive(settings);
  await archive.close();
  return ok(settings.archive.kind === 'folder' ? settings.archive.path : settings.archive.url);
}

async function checkService(settings: Settings): Promise<Finding> {
  if (settings.service.caFile !== null) await access(settings.service.caFile, constants.R_OK);
  if (settings.service.baseUrl === null) {
    return note('none is configured: reports and imports work, events cannot be acted on', INIT_HINT);
  }
  requireService(settings);
  const archive = await openArchive(settings);
  const service = createBillingService({ settings, archive });
  try {
    const { secondsLeft } = await service.fetchToken({ signal: AbortSignal.timeout(30_000) });
    const token = secondsLeft === null ? 'API key' : `token good for ${Math.round(secondsLeft)} s`;
    const partner = service.partnerIds().join(', ') || 'unknown';
    return ok(`${settings.service.baseUrl} answers, ${token}, partner ${partner}`);
  } finally {
    await service.close();
    await archive.close();
  }
}

const INIT_HINT = '`billsync init` writes a settings file to fill in';

async function checkTemporal(settings: Settings): Promise<Finding> {
  const isRunning = settings.temporalConfigured || (await readEmbeddedRecord(settings.dataDir)) !== null;
  if (!isRunning) {
    const executable = await temporalExecutable();
    return ok(`embedded, not running; \`billsync up\` starts ${executable}`);
  }
  const log = createLogger({ ...settings, log: { ...settings.log, level: 'silent' } }, 'doctor');
  const connection = await connectTemporal(settings, { log });
  await connection.close();
  return ok(`${connection.address}, namespace ${connection.namespace}`);
}

async function checkEndpoint(settings: Settings): Promise<Finding> {
  const { credentials, tls, tlsCert, path } = settings.webhook;
  const url =
    readRunFile(settings, 'up')?.addresses.webhook ?? readRunFile(settings, 'webhook')?.addresses.webhook;
  const isOpen = credentials.basicAuth.length === 0 && credentials.headers.length === 0;
  if (url !== undefined) await askHealth(url);
  const state = url === undefined ? `not running; would serve ${path}` : `${url} answers`;
  if (isOpen) return note(`${state}, asks for no credentials`, 'set BILLSYNC_WEBHOOK_BASIC_AUTH_FILE');
  if (tls && tlsCert === null) {
    return note(
      `${state}, certificate self-signed`,
      'set BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY',
    );
  }
  return ok(state);
}

async function askHealth(url: string): Promise<void> {
  const { Agent } = await import('undici');
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

async function checkInbox(settings: Settings): Promise<Finding> {
  const waiting = await (await openInbox(join(settings.dataDir, 'inbox'))).pending();
  if (waiting.length === 0) return ok('nothing waits');
  const oldest = waiting[0]?.receivedAt ?? '';
  return note(
    `${waiting.length} deliveries wait, the oldest since ${oldest}`,
    'they go on once Temporal answers',
  );
}

async function checkWarehouse(settings: Settings): Promise<Finding> {
  if (settings.warehouse.kind !== 'duckdb')
    return ok(`${settings.warehouse.kind}, data in ${settings.warehouse.dataPath}`);
  const { database, lock } = warehousePaths(settings);
  const owner = await lockOwner(lock);
  if (owner !== null) return ok(`${database}, held by ${owner.role} (pid ${owner.pid}) since ${owner.since}`);
  return ok(`${database}, no writer is running`);
}

async function checkPublished(settings: Settings): Promise<Finding> {
  let published: Awaited<ReturnType<typeof openPublished>>;
  try {
    published = await openPublished(settings);
  } catch (error) {
    if ((error as Error).name !== 'NotPublishedError') throw error;
    return note('nothing is published yet', '`billsync up` publishes what it loads');
  }
  try {
    const [state] = await published.ask('publication');
    const waiting = Number(state?.needs_attention ?? 0);
    const detail = `number ${String(state?.sequence)} of ${String(state?.published_at)}, ${String(state?.shipments)} shipments`;
    if (waiting === 0) return ok(detail);
    return note(
      `${detail}, ${waiting} invoice(s) need attention`,
      '`billsync invoices list --state needs_attention`',
    );
  } finally {
    published.close();
  }
}

async function checkQuarantine(settings: Settings): Promise<Finding> {
  const things = await (await openQuarantine(join(settings.dataDir, 'quarantine'))).list();
  if (things.length === 0) return ok('empty');
  return note(`${things.length} refused thing(s)`, '`billsync quarantine list` says why');
}

function ok(detail: string): Finding {
  return { result: 'ok', detail, hint: null };
}

function note(detail: string, hint: string): Finding {
  return { result: 'note', detail, hint };
}
