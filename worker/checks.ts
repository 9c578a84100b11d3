import { access, constants } from 'node:fs/promises';
import type { Archive } from '../archive/archive.ts';
import { isArchiveThere } from '../archive/folder-archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { certificateCheck, tokenExpiryCheck } from '../lib/health/expiry-checks.ts';
import { readFreeSpace } from '../lib/health/free-space.ts';
import {
  type Check,
  type CheckedState,
  type Sinks,
  type StateCheck,
  watchTask,
} from '../lib/health/health.ts';
import { overdueCall, passTime } from '../lib/health/native-calls.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import type { PublishedWarehouse } from '../warehouse/publication-loop.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const HEALTHY: CheckedState = { isHealthy: true, detail: '' };

export interface MachineOptions extends Sinks {
  readonly dataDir: string;
  readonly metrics: Metrics;
  readonly endProcess?: () => void;
  readonly now?: () => number;
}

/** These checks run while the warehouse is opened too, which takes long when it is rebuilt. */
export function machineChecks(options: MachineOptions): readonly (Check | StateCheck)[] {
  return [
    {
      component: 'disk',
      everyMs: 2 * SECOND_MS,
      alert: { key: 'disk/full', title: 'The disk is nearly full, or cannot be read' },
      readState: diskState(options),
    },
    {
      component: 'duckdb',
      everyMs: SECOND_MS,
      alert: { key: 'duckdb', title: 'DuckDB does not answer; the worker ends' },
      readState: duckDbState(options),
    },
    {
      component: 'external services',
      everyMs: 2 * SECOND_MS,
      run: () => alertExternalServices(options),
    },
  ];
}

export interface MissingFiles {
  readonly invoices: number;
  readonly since: string | null;
}

export interface PartsOptions {
  readonly settings: Pick<Settings, 'service' | 'archive' | 'warehouse'>;
  readonly archive: Pick<Archive, 'file'>;
  readonly quarantine: Pick<Quarantine, 'list'>;
  readonly warehouse: Pick<Warehouse, 'blockedBy'>;
  readonly readMissingFiles: () => Promise<MissingFiles>;
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
}

export function partsChecks(options: PartsOptions): readonly StateCheck[] {
  const { settings, archive, quarantine, warehouse, readMissingFiles, now = Date.now } = options;
  const checks: (StateCheck | null)[] = [
    {
      component: 'archive',
      // A check is one request to the bucket, which are 5,760 a day.
      everyMs: 15 * SECOND_MS,
      alert: { key: 'archive', title: 'The archive cannot be reached' },
      readState: () => checkArchive(settings.archive, archive),
    },
    {
      component: 'quarantine',
      isOutside: true,
      everyMs: MINUTE_MS,
      alert: { key: 'quarantine/old', title: 'Refused deliveries or files have waited for more than a day' },
      readState: async () => {
        const refused = await quarantine.list();
        const [since = null] = refused.map(({ at }) => at).sort();
        return reportOldest({ count: refused.length, noun: 'refused', since }, 24 * HOUR_MS, now());
      },
    },
    {
      component: 'files',
      isOutside: true,
      everyMs: MINUTE_MS,
      readState: async () => {
        const { invoices: count, since } = await readMissingFiles();
        return reportOldest({ count, noun: 'finalized without their file', since }, HOUR_MS, now());
      },
    },
    settings.warehouse.kind === 'duckdb' ? null : lakeCheck(warehouse),
    ...credentialChecks(options),
  ];
  return checks.filter((check) => check !== null);
}

function credentialChecks({
  settings,
  env = process.env,
  now = Date.now,
}: PartsOptions): readonly (StateCheck | null)[] {
  const { clientCert, clientKey, apiKey } = settings.service;
  const { TEMPORAL_API_KEY: temporalKey, TEMPORAL_TLS_CLIENT_CERT_PATH: temporalCert } = env;
  const key = clientKey === null ? undefined : { setting: 'BILLSYNC_CLIENT_KEY', path: clientKey };
  return [
    clientCert === null
      ? null
      : certificateCheck(
          'client certificate',
          { setting: 'BILLSYNC_CLIENT_CERT', path: clientCert },
          { key, now },
        ),
    apiKey === null ? null : tokenExpiryCheck('API key', 'BILLSYNC_API_KEY', apiKey, now),
    temporalKey ? tokenExpiryCheck('API key of Temporal', 'TEMPORAL_API_KEY', temporalKey, now) : null,
    temporalCert
      ? certificateCheck(
          'client certificate of Temporal',
          { setting: 'TEMPORAL_TLS_CLIENT_CERT_PATH', path: temporalCert },
          { now },
        )
      : null,
  ];
}

function diskState({ dataDir, metrics }: MachineOptions): () => Promise<CheckedState> {
  const free = metrics.gauge('disk_free_bytes');
  const size = metrics.gauge('disk_size_bytes');
  return async () => {
    const { freeBytes, sizeBytes, shortage } = await readFreeSpace(dataDir);
    free.set(freeBytes);
    size.set(sizeBytes);
    return shortage === null ? HEALTHY : { isHealthy: false, detail: shortage };
  };
}

const END_DELAY_MS = 5 * SECOND_MS;

/** When a call of DuckDB hangs, the process ends: its supervisor restarts it, and Temporal retries the activities. */
function duckDbState({ endProcess }: MachineOptions): () => Promise<CheckedState> {
  // `process.exit` would wait for the thread that waits for DuckDB.
  const end = endProcess ?? (() => process.kill(process.pid, 'SIGKILL'));
  let isEnding = false;
  return async () => {
    passTime(SECOND_MS);
    const statement = overdueCall();
    if (statement === null) return HEALTHY;
    if (!isEnding) setTimeout(end, END_DELAY_MS);
    isEnding = true;
    return { isHealthy: false, detail: `DuckDB does not return from: ${statement}` };
  };
}

const EXTERNAL_SERVICES = [
  {
    component: 'temporal',
    key: 'temporal/away',
    title: 'Temporal does not answer',
    advice: 'Deliveries are kept; nothing is downloaded or loaded until it is back.',
  },
  {
    component: 'billing service',
    key: 'service/unwell',
    title: 'Calls to the billing service fail',
    advice: 'Everything is retried with growing pauses; nothing is lost.',
  },
] as const;

/** A restart of Temporal, or a single failed call, needs no alert. */
const ALERT_AFTER_MS = 15 * SECOND_MS;

function alertExternalServices({ health, alerts, now = Date.now }: MachineOptions): void {
  const { components } = health.report();
  for (const { component, key, title, advice } of EXTERNAL_SERVICES) {
    const state = components[component];
    if (state?.isHealthy === true) alerts.resolve(key);
    else if (state !== undefined && now() - Date.parse(state.since) >= ALERT_AFTER_MS) {
      alerts.raise({ key, title, detail: `${state.detail}. ${advice}` });
    }
  }
}

const NO_FILE = '0'.repeat(64);

async function checkArchive(
  settings: Settings['archive'],
  archive: Pick<Archive, 'file'>,
): Promise<CheckedState> {
  if (settings.kind === 's3') await archive.file(NO_FILE);
  else {
    await access(settings.path, constants.R_OK | constants.W_OK);
    // The empty mount point of an unmounted volume would answer "no such file" to every read.
    if (!isArchiveThere(settings.path)) {
      const detail = `${settings.path} holds no archive any more. Is its volume mounted?`;
      return { isHealthy: false, detail };
    }
  }
  return HEALTHY;
}

function reportOldest(
  { count, noun, since }: { readonly count: number; readonly noun: string; readonly since: string | null },
  maxMs: number,
  nowMs: number,
): CheckedState {
  if (count === 0 || since === null) return HEALTHY;
  const detail = `${count} ${noun}, the oldest since ${since.slice(0, 16).replace('T', ' ')} UTC.`;
  return { isHealthy: nowMs - Date.parse(since) <= maxMs, detail };
}

export function lakeCheck(warehouse: Pick<Warehouse, 'blockedBy'>): StateCheck {
  return {
    component: 'lake locks',
    isOutside: true,
    everyMs: 10 * SECOND_MS,
    alert: { key: 'lake/blocked', title: 'Loading waits' },
    async readState() {
      const holder = await warehouse.blockedBy();
      return holder === null ? HEALTHY : { isHealthy: false, detail: `It waits for ${holder}.` };
    },
  };
}

export function reportPublisherFailures(warehouse: PublishedWarehouse, sinks: Sinks): PublishedWarehouse {
  const ingest = watchTask({
    ...{ ...sinks, component: 'ingest' },
    title: 'Received events do not reach the warehouse',
    advice: 'Deliveries are kept meanwhile. The worker’s log names the cause.',
  });
  const publication = watchTask({
    ...{ ...sinks, component: 'publication' },
    title: 'Nothing new is published; readers keep the previous data',
    advice: 'Check the disk and `reports.duckdb` in the data folder; the worker’s log names the cause.',
  });
  return {
    onChange: (listener) => warehouse.onChange(listener),
    ingestArchive: () => ingest(() => warehouse.ingestArchive()),
    publish: () => publication(() => warehouse.publish()),
  };
}
