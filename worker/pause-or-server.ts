/** The wait of a worker that began before the Temporal server of its data folder: over as soon as that is there. */

import type { Settings } from '../lib/config/settings.ts';
import { TemporalUnreachableError } from '../lib/temporal/connect.ts';
import { readEmbeddedRecord } from '../lib/temporal/embedded-record.ts';
import { pause } from '../lib/temporal/pause.ts';

/** A small file is read. */
const LOOK_EVERY_MS = 50;

/**
 * @param error why no task could be taken
 * @throws the signal's reason
 */
export async function pauseOrServer(
  error: unknown,
  {
    longestMs,
    settings,
    signal,
  }: { readonly longestMs: number; readonly settings: Settings; readonly signal: AbortSignal },
): Promise<void> {
  if (settings.temporalConfigured || !(error instanceof TemporalUnreachableError))
    return pause(longestMs, signal);
  const until = performance.now() + longestMs;
  while (performance.now() < until) {
    const record = await readEmbeddedRecord(settings.dataDir);
    if (record !== null && record.address !== error.address) return;
    await pause(LOOK_EVERY_MS, signal);
  }
}
