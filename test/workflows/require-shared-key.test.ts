import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDataConverter } from '../../lib/temporal/codec.ts';
import { requireSharedKey } from '../../worker/require-shared-key.ts';
import { applySchedule, scheduleId } from '../../workflows/client/schedules.ts';
import { eventually } from '../support/eventually.ts';
import { connectForTests, NAMESPACE, type TemporalForTests } from '../support/temporal.ts';

let temporal: TemporalForTests;
beforeAll(async () => {
  temporal = await connectForTests();
});
afterAll(() => temporal?.close());

test('accepts a key only once Temporal has shown that other processes have it', async () => {
  const id = randomUUID();
  const settings = { environment: `key-${id}` as 'test', reconcileEvery: '1h' };
  const queues = { billing: `billing-${id}`, warehouse: `warehouse-${id}` };
  const withKey = (name: string, byte: number) =>
    new Client({
      ...{ connection: temporal.connection, namespace: NAMESPACE },
      dataConverter: createDataConverter([{ id: name, key: new Uint8Array(32).fill(byte) }]),
    });
  const outcomes = async () => {
    const clients = [temporal.client, withKey('other', 1), withKey('test', 1)];
    return Promise.all(
      clients.map((client) =>
        requireSharedKey(client, settings, queues).then(
          () => 'accepted',
          (error: { readonly code?: string }) => error.code,
        ),
      ),
    );
  };
  const compared = ['accepted', 'unknown-encryption-key', 'undecryptable-payload'];
  expect(await outcomes()).toEqual(['accepted', 'accepted', 'accepted']);
  const workflow = await temporal.client.workflow.start('invoice', {
    ...{ workflowId: `key/${id}`, taskQueue: queues.billing, args: [{}] },
  });
  await eventually(async () => (await outcomes())[1] !== 'accepted');
  expect(await outcomes()).toEqual(compared);
  await applySchedule(temporal.client, settings, queues);
  await workflow.terminate();
  expect(await outcomes()).toEqual(compared);

  const unanswered = temporal.connection.withDeadline(Date.now(), () =>
    requireSharedKey(temporal.client, settings, queues),
  );
  await expect(unanswered).rejects.toThrow();
  await temporal.client.schedule.getHandle(scheduleId(settings.environment)).delete();
});
