/**
 * Removes what was planned. Each thing is on record in the archive before it is gone, so that a purge that was cut short
 * leaves nothing that `verify` and `rebuild` do not understand; the same command does the rest.
 */

import { rm } from 'node:fs/promises';
import type { Archive } from '../../archive/archive.ts';
import type { Quarantine } from '../../lib/wire/quarantine.ts';
import { discardQuarantined } from '../../webhook/requeue.ts';
import type { PurgePlan } from './plan-purge.ts';

export interface PurgeOptions {
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  readonly by: string;
  readonly reason: string;
  readonly now?: () => Date;
  readonly onProgress: (done: number, of: number) => void;
}

export async function runPurge(plan: PurgePlan, options: PurgeOptions): Promise<void> {
  const { archive, quarantine, by, reason, onProgress, now = () => new Date() } = options;
  const of = plan.refused.length + plan.events.length + plan.files.length + plan.copies.length;
  let done = 0;
  const each = async <T>(things: readonly T[], remove: (thing: T) => Promise<unknown>): Promise<void> => {
    for (const thing of things) {
      await remove(thing);
      done += 1;
      onProgress(done, of);
    }
  };
  const at = (): string => now().toISOString();
  const note = `purged, older than ${plan.before}: ${reason}`;
  await each(plan.refused, ({ quarantineId }) =>
    discardQuarantined(quarantineId, { quarantine, archive, note }),
  );
  await each(plan.events, ({ eventId }) => archive.trimEvent(eventId, at()));
  // A file that came for two invoices is told of both.
  await each(plan.files, async ({ sha256, sizeBytes, invoiceId }) => {
    await archive.putFact({ kind: 'purged', at: at(), invoiceId, sha256, sizeBytes, by, reason });
    await archive.removeFile(sha256);
  });
  await each(plan.copies, ({ path }) => rm(path, { force: true }));
}
