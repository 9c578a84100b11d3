/**
 * Forwards what has lain in the inbox for long: an endpoint that was killed and not started again leaves deliveries
 * behind that were acknowledged. The reconciliation calls this; beside a living forwarder it finds nothing to do.
 */

import { FsyncError } from '../lib/files/durable-files.ts';
import type { Logger } from '../lib/log/log.ts';
import { type ForwardDeps, forwardEntry } from './forward-entry.ts';

export interface ForwardedWaiting {
  readonly forwarded: number;
  /** What is still there, too young ones included. */
  readonly waiting: number;
  /** ISO 8601 UTC of the oldest that is still there. */
  readonly oldestReceivedAt: string | null;
}

/** A living forwarder tries a delivery within seconds and again after a minute at most. */
const LEFT_ALONE_MS = 2 * 60_000;
/** This many failures in a row mean that Temporal is away: the next reconciliation tries again. */
const FAILURES_BELIEVED = 5;

/**
 * In order of arrival; what fails holds up its own invoice only. Safe beside any number of forwarders, because every
 * step of it is.
 *
 * @throws FsyncError the disk did not store what was written: the process must end
 */
export async function forwardWaiting(
  deps: ForwardDeps & { readonly log: Logger; readonly olderThanMs?: number },
): Promise<ForwardedWaiting> {
  const { inbox, log, olderThanMs = LEFT_ALONE_MS, now = () => new Date() } = deps;
  const held = new Set<string>();
  let forwarded = 0;
  let failures = 0;
  const limit = now().getTime() - olderThanMs;
  for (const entry of await inbox.pending()) {
    const lane = entry.invoiceId?.toLowerCase() ?? entry.eventId;
    if (Date.parse(entry.receivedAt) > limit || held.has(lane)) continue;
    if (failures === FAILURES_BELIEVED) break;
    try {
      const outcome = await forwardEntry(entry, deps);
      failures = 0;
      if (outcome !== 'gone') forwarded += 1;
    } catch (error) {
      if (error instanceof FsyncError) throw error;
      failures += 1;
      held.add(lane);
      log.warn(
        { err: error, eventId: entry.eventId },
        'a delivery that was left behind could not be forwarded',
      );
    }
  }
  const left = await inbox.pending();
  return { forwarded, waiting: left.length, oldestReceivedAt: left[0]?.receivedAt ?? null };
}
