/** What grows old while everything works: refused things that nobody decided about, files that do not come, an archive out of reach. */

import { access, constants } from 'node:fs/promises';
import type { Archive } from '../archive/archive.ts';
import { isArchiveThere } from '../archive/folder-archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { CheckedState, StateWatch } from '../lib/health/health.ts';
import { certificateWatch, tokenWatch } from '../lib/health/watch-expiry.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';

export interface Waiting {
  /** Finalized, and their file has not come. */
  readonly invoices: number;
  /** ISO 8601 UTC, of the one that has waited longest; null without any. */
  readonly since: string | null;
}

export interface UpkeepOptions {
  readonly settings: Pick<Settings, 'service' | 'archive'>;
  readonly archive: Pick<Archive, 'file'>;
  readonly quarantine: Pick<Quarantine, 'list'>;
  /** By the published file. */
  readonly readWaiting: () => Promise<Waiting>;
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
}

const MINUTE_MS = 60_000;
/** One question to a bucket: 5,760 a day. */
const ARCHIVE_EVERY_MS = 15_000;
const HOUR_MS = 60 * MINUTE_MS;
/** As the alert `quarantine/old` has it. */
const REFUSED_TOO_LONG_MS = 24 * HOUR_MS;
/** A file is tried for at once and again within minutes. */
const FILE_TOO_LATE_MS = HOUR_MS;
/** No file has it. */
const NO_FILE = '0'.repeat(64);

export function upkeepWatches(options: UpkeepOptions): readonly StateWatch[] {
  const { settings, archive, quarantine, readWaiting, env = process.env, now = Date.now } = options;
  const { clientCert, clientKey, apiKey } = settings.service;
  const { TEMPORAL_API_KEY: temporalKey, TEMPORAL_TLS_CLIENT_CERT_PATH: temporalCert } = env;
  const own: StateWatch[] = [
    {
      component: 'archive',
      look: () => lookAtArchive(settings.archive, archive),
      alert: { key: 'archive', title: 'The archive is out of reach' },
      everyMs: ARCHIVE_EVERY_MS,
    },
    {
      component: 'quarantine',
      isOutside: true,
      everyMs: MINUTE_MS,
      look: async () => {
        const held = await quarantine.list();
        const oldest = held.reduce<string | null>(
          (first, { at }) => (first === null || at < first ? at : first),
          null,
        );
        return aged({ count: held.length, what: 'refused', since: oldest }, REFUSED_TOO_LONG_MS, now());
      },
    },
    {
      component: 'files',
      isOutside: true,
      everyMs: MINUTE_MS,
      look: async () => {
        const { invoices, since } = await readWaiting();
        return aged(
          { count: invoices, what: 'finalized without their file', since },
          FILE_TOO_LATE_MS,
          now(),
        );
      },
    },
  ];
  const expiring = [
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
  return [...own, ...expiring.filter((watch) => watch !== null)];
}

/**
 * Throws when the archive is out of reach.
 *
 * A folder that is not there any more answers "no such file" to every question, as one that never had it.
 */
async function lookAtArchive(
  settings: Settings['archive'],
  archive: Pick<Archive, 'file'>,
): Promise<CheckedState> {
  if (settings.kind === 's3') await archive.file(NO_FILE);
  else {
    await access(settings.path, constants.R_OK | constants.W_OK);
    if (!isArchiveThere(settings.path)) {
      return {
        isHealthy: false,
        detail: `${settings.path} holds no archive any more. Is its volume mounted?`,
      };
    }
  }
  return { isHealthy: true, detail: '' };
}

function aged(
  { count, what, since }: { readonly count: number; readonly what: string; readonly since: string | null },
  tooLongMs: number,
  nowMs: number,
): CheckedState {
  if (count === 0 || since === null) return { isHealthy: true, detail: '' };
  const detail = `${count} ${what}, the oldest since ${since.slice(0, 16).replace('T', ' ')} UTC.`;
  return { isHealthy: nowMs - Date.parse(since) <= tooLongMs, detail };
}
