/** Checks of problems that no running work reports: old quarantined items, missing files, expiring credentials, an unreachable archive. */

import { access, constants } from 'node:fs/promises';
import type { Archive } from '../archive/archive.ts';
import { isArchiveThere } from '../archive/folder-archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { CheckedState, StateWatch } from '../lib/health/health.ts';
import { certificateWatch, tokenWatch } from '../lib/health/watch-expiry.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';

/** Finalized invoices whose file has not arrived. */
export interface MissingFiles {
  readonly invoices: number;
  /** ISO 8601 UTC, of the invoice that has waited longest; null without any. */
  readonly since: string | null;
}

export interface UpkeepOptions {
  readonly settings: Pick<Settings, 'service' | 'archive'>;
  readonly archive: Pick<Archive, 'file'>;
  readonly quarantine: Pick<Quarantine, 'list'>;
  readonly readMissingFiles: () => Promise<MissingFiles>;
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
}

const MINUTE_MS = 60_000;
/** One request to the bucket: 5,760 a day. */
const ARCHIVE_INTERVAL_MS = 15_000;
const HOUR_MS = 60 * MINUTE_MS;
const MAX_QUARANTINE_MS = 24 * HOUR_MS;
const MAX_FILE_DELAY_MS = HOUR_MS;
/** The hash of no file. */
const NO_FILE = '0'.repeat(64);

export function upkeepChecks(options: UpkeepOptions): readonly StateWatch[] {
  const { settings, archive, quarantine, readMissingFiles, env = process.env, now = Date.now } = options;
  const { clientCert, clientKey, apiKey } = settings.service;
  const { TEMPORAL_API_KEY: temporalKey, TEMPORAL_TLS_CLIENT_CERT_PATH: temporalCert } = env;
  const minutely = { isOutside: true, everyMs: MINUTE_MS };
  const checks: (StateWatch | null)[] = [
    {
      component: 'archive',
      look: () => checkArchive(settings.archive, archive),
      alert: { key: 'archive', title: 'The archive is out of reach' },
      everyMs: ARCHIVE_INTERVAL_MS,
    },
    {
      component: 'quarantine',
      ...minutely,
      alert: {
        key: 'quarantine/old',
        title: 'Refused deliveries or files have waited for more than a day',
      },
      look: async () => {
        const held = await quarantine.list();
        const [since = null] = held.map(({ at }) => at).sort();
        return checkAge({ count: held.length, noun: 'refused', since }, MAX_QUARANTINE_MS, now());
      },
    },
    {
      component: 'files',
      ...minutely,
      look: async () => {
        const { invoices: count, since } = await readMissingFiles();
        return checkAge({ count, noun: 'finalized without their file', since }, MAX_FILE_DELAY_MS, now());
      },
    },
    clientCert === null
      ? null
      : certificateWatch(
          'client certificate',
          { setting: 'BILLSYNC_CLIENT_CERT', path: clientCert },
          { key: clientKey === null ? undefined : { setting: 'BILLSYNC_CLIENT_KEY', path: clientKey }, now },
        ),
    apiKey === null ? null : tokenWatch('API key', 'BILLSYNC_API_KEY', apiKey, now),
    temporalKey ? tokenWatch('API key of Temporal', 'TEMPORAL_API_KEY', temporalKey, now) : null,
    temporalCert
      ? certificateWatch(
          'client certificate of Temporal',
          { setting: 'TEMPORAL_TLS_CLIENT_CERT_PATH', path: temporalCert },
          { now },
        )
      : null,
  ];
  return checks.filter((check) => check !== null);
}

/** @throws when the archive is out of reach */
async function checkArchive(
  settings: Settings['archive'],
  archive: Pick<Archive, 'file'>,
): Promise<CheckedState> {
  if (settings.kind === 's3') await archive.file(NO_FILE);
  else {
    await access(settings.path, constants.R_OK | constants.W_OK);
    // The empty mount point of an unmounted volume would answer "no such file" to every read.
    if (!isArchiveThere(settings.path)) {
      return {
        isHealthy: false,
        detail: `${settings.path} holds no archive any more. Is its volume mounted?`,
      };
    }
  }
  return { isHealthy: true, detail: '' };
}

function checkAge(
  { count, noun, since }: { readonly count: number; readonly noun: string; readonly since: string | null },
  maxMs: number,
  nowMs: number,
): CheckedState {
  if (count === 0 || since === null) return { isHealthy: true, detail: '' };
  const detail = `${count} ${noun}, the oldest since ${since.slice(0, 16).replace('T', ' ')} UTC.`;
  return { isHealthy: nowMs - Date.parse(since) <= maxMs, detail };
}
