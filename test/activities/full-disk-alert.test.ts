/** A disk that is not full, and too small for what was announced: a person hears of it before the day is over. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { BillingDependencies } from '../../activities/dependencies.ts';
import { downloadCsv } from '../../activities/download-csv.ts';
import { createPartFile } from '../../billing/receive-file.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';

test('raises an alert for a file that does not fit, with what is free and needed, until another one fits', async () => {
  const raised = new Map<string, Alert>();
  let announcedBytes = 2 ** 50;
  const service = {
    async downloadCsv() {
      const part = await createPartFile(join(tmpdir(), 'billsync-full-disk-alert'), announcedBytes);
      await part.discard();
      return { sha256: 'a'.repeat(64), sizeBytes: announcedBytes };
    },
  };
  const alerts = {
    raise: (alert: Alert) => void raised.set(alert.key, alert),
    resolve: (key: string) => void raised.delete(key),
  };
  const activity = downloadCsv({ service, alerts } as unknown as BillingDependencies);
  const run = () => new MockActivityEnvironment().run(activity as never, {});
  await expect(run()).rejects.toMatchObject({ type: 'disk-full' });
  expect(raised.get('disk/no-room')?.detail).toMatch(
    /\d+ MiB are free, 1073741888 MiB are needed\. Free some space/,
  );
  announcedBytes = 1;
  await run();
  expect(raised.size).toBe(0);
});
