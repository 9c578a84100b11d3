/** A disk that is not full, but has too little space for an announced file, raises an alert. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { BillingDependencies } from '../../activities/dependencies.ts';
import { createFileActivities } from '../../activities/files.ts';
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
  const { downloadCsv } = createFileActivities({ service, alerts } as unknown as BillingDependencies);
  const run = () => new MockActivityEnvironment().run(downloadCsv as never, {});
  await expect(run()).rejects.toMatchObject({ type: 'disk-full' });
  expect(raised.get('disk/no-room')?.detail).toMatch(
    /\d+ MiB are free, 1073741888 MiB are needed\. Free some space/,
  );
  announcedBytes = 1;
  await run();
  expect(raised.size).toBe(0);
});
