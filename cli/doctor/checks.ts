import { existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openArchive } from '../../archive/open-archive.ts';
import { openChannels } from '../../lib/alerts/channels.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import { type Settings, suspiciousSecrets } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { copyOrShare, temporaryName } from '../../lib/files/files.ts';
import { lockOwner } from '../../lib/files/lock-file.ts';
import { isGroupVolume, keepPrivate } from '../../lib/files/private-folder.ts';
import { readFreeSpace } from '../../lib/health/free-space.ts';
import { createLogger } from '../../lib/log/log.ts';
import { systemErrorIn } from '../../lib/system-errors.ts';
import { connectTemporal } from '../../lib/temporal/connect.ts';
import { readEmbeddedRecord } from '../../lib/temporal/embedded-record.ts';
import { temporalExecutable } from '../../lib/temporal/server-executable.ts';
import { warehousePaths } from '../../warehouse/data-folder.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { CliError, EXIT } from '../errors.ts';
import { withPublishedIfAny } from '../published.ts';
import { counted } from '../terminal/output.ts';
import { checkEnvironment } from '../verb.ts';
import {
  type Check,
  checkClientCertificate,
  checkClock,
  checkEndpoint,
  checkService,
  type Finding,
  note,
  ok,
} from './connection-checks.ts';

export const CHECKS: readonly Check[] = [
  { name: 'data folder', isInFolder: false, run: checkDataFolder },
  { name: 'disk', component: 'disk', isInFolder: true, run: checkDisk },
  { name: 'archive', component: 'archive', isInFolder: true, run: checkArchive },
  { name: 'secrets', isInFolder: false, run: checkSecrets },
  { name: 'billing service', isInFolder: true, run: checkService },
  { name: 'client certificate', isInFolder: false, run: checkClientCertificate },
  { name: 'clock', component: 'clock', isInFolder: false, run: checkClock },
  { name: 'temporal', component: 'temporal', isInFolder: true, run: checkTemporal },
  { name: 'endpoint', isInFolder: false, run: checkEndpoint },
  { name: 'alerts', isInFolder: false, run: checkAlerts },
  { name: 'inbox', isInFolder: true, run: checkInbox },
  { name: 'warehouse', isInFolder: false, run: checkWarehouse },
  { name: 'published file', isInFolder: true, run: checkPublished },
  { name: 'quarantine', isInFolder: true, run: checkQuarantine },
];

const GIB = 1024 ** 3;

async function checkDataFolder(settings: Settings): Promise<Finding> {
  const { dataDir, environment } = settings;
  await checkEnvironment(settings);
  await keepPrivate(dataDir);
  const probe = join(dataDir, `.doctor-${process.pid}`);
  await writeFile(probe, 'x', { flush: true });
  await rm(probe);
  const detail = `${dataDir} can be written (${environment})`;
  const folder = await stat(dataDir);
  // Only root can change the mode of a mounted volume, and its group contains only the users of billsync.
  if ((folder.mode & (isGroupVolume(folder) ? 0o007 : 0o077)) !== 0)
    return note(`${detail}, other users can read it`, `chmod 700 ${dataDir}`);
  return ok(detail);
}

async function checkDisk({ dataDir, warehouse }: Settings): Promise<Finding> {
  const { freeBytes, shortage } = await readFreeSpace(dataDir);
  if (shortage !== null) return { result: 'failed', detail: shortage, hint: DISK_HINT };
  if (freeBytes < GIB) return note(`${Math.floor(freeBytes / 1024 ** 2)} MiB free`, DISK_HINT);
  const free = `${(freeBytes / GIB).toFixed(1)} GiB free`;
  if (warehouse.kind === 'ducklake') return ok(free);
  const isShared = await sharesBlocks(dataDir);
  return ok(`${free}, ${isShared ? 'publications share' : 'each publication copies'} the warehouse file`);
}

async function sharesBlocks(folder: string): Promise<boolean> {
  const [from, to] = [temporaryName(folder), temporaryName(folder)];
  try {
    await writeFile(from, Buffer.alloc(4_096));
    return (await copyOrShare(from, to)) === 0;
  } finally {
    for (const path of [from, to]) await rm(path, { force: true });
  }
}

const DISK_HINT =
  'free disk space, and inodes: without them, deliveries are answered 503 and nothing new is loaded';

async function checkArchive(settings: Settings): Promise<Finding> {
  const archive = await openArchive(settings);
  // Opening a bucket sends no request to S3, so a file is requested.
  await archive.file('0'.repeat(64)).finally(() => archive.close());
  return ok(settings.archive.kind === 'folder' ? settings.archive.path : settings.archive.url);
}

async function checkSecrets(settings: Settings): Promise<Finding> {
  const found = suspiciousSecrets(settings);
  if (found.length === 0) return ok('no suspicious character');
  return note(
    found.map(({ setting, what }) => `${setting} ${what}`).join('; '),
    'if that is a mistake, write the value without it, as UTF-8 and without quotation marks',
  );
}

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

async function checkInbox(settings: Settings): Promise<Finding> {
  const waiting = await (await openInbox(dataFolder(settings.dataDir).inbox)).pending();
  if (waiting.length === 0) return ok('empty');
  const oldest = waiting[0]?.receivedAt ?? '';
  return note(
    `${waiting.length === 1 ? '1 delivery waits' : `${waiting.length} deliveries wait`}, the oldest since ${oldest}`,
    'they are processed once Temporal answers',
  );
}

async function checkWarehouse(settings: Settings): Promise<Finding> {
  if (settings.warehouse.kind === 'ducklake') {
    const { checkLake } = await import('../../warehouse/lake/lake-reader.ts');
    return ok(await checkLake(settings.warehouse));
  }
  const { database, lock } = warehousePaths(settings);
  const owner = await lockOwner(lock);
  if (owner !== null) return ok(`${database}, held by ${owner.role} (pid ${owner.pid}) since ${owner.since}`);
  await tryDatabase(database);
  return ok(`${database}, no writer is running`);
}

async function tryDatabase(database: string): Promise<void> {
  if (!existsSync(database)) return;
  const { openInstance } = await import('../../lib/duckdb-instance.ts');
  try {
    (await openInstance(database, { access_mode: 'READ_ONLY' })).closeSync();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/lock/i.test(message)) {
      const pid = /PID (\d+)/.exec(message)?.[1];
      throw new CliError(
        EXIT.locked,
        `the warehouse is held by ${pid === undefined ? 'another program' : `process ${pid}`}`,
        {
          subject: database,
          hint: 'close it there; open reports.duckdb to read the data',
          cause: error,
        },
      );
    }
    throw new CliError(EXIT.rejected, 'the warehouse cannot be opened', {
      subject: database,
      hint: '`billsync rebuild` rebuilds it from the archive; the damaged file is kept beside it',
      cause: error,
    });
  }
}

async function checkPublished(settings: Settings): Promise<Finding> {
  const rows = await withPublishedIfAny(settings, (published) => published.query('publication'));
  if (rows === null) return note('nothing is published yet', '`billsync up` publishes what it loads');
  const [state] = rows;
  const waiting = Number(state?.needs_attention ?? 0);
  const detail = `publication ${String(state?.sequence)} of ${String(state?.published_at)}, ${String(state?.shipments)} shipments`;
  if (waiting === 0) return ok(detail);
  return note(
    `${detail}, ${counted(waiting, 'invoice')} need attention`,
    '`billsync invoices list --state needs_attention`',
  );
}

async function checkQuarantine(settings: Settings): Promise<Finding> {
  const items = await (await openQuarantine(dataFolder(settings.dataDir).quarantine)).list();
  if (items.length === 0) return ok('empty');
  return note(counted(items.length, 'refused item'), '`billsync quarantine list` shows why');
}

const OPENING = SETTING_DEFINITIONS.filter(
  ({ variable, default: usual }) => variable.startsWith('BILLSYNC_ALERT_') && usual === null,
);

export async function checkAlerts(settings: Settings): Promise<Finding> {
  const channels = openChannels({ settings, post: async () => {} });
  if (channels.length === 0) {
    return note('only in the log', `set ${OPENING.map(({ variable }) => variable).join(' or ')}`);
  }
  for (const { where, test } of channels) {
    try {
      await test?.();
    } catch (error) {
      const { problem = String(error), advice = null } = systemErrorIn(error) ?? {};
      return { result: 'failed', detail: `alerts cannot be ${where}: ${problem}`, hint: advice };
    }
  }
  return ok(channels.map(({ where, test }) => (test ? where : `${where} (not tried)`)).join(', '));
}
