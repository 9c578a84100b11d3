import { afterAll, describe, expect, test } from 'vitest';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { startWebhook } from '../../webhook/server.ts';
import { attackEach } from '../support/attack.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { aDelivery, deliver, openParts } from '../webhook/a-delivery.ts';

const { alerts, raised } = memoryAlerts();

const webhook = await startWebhook({ ...(await openParts()), alerts });

afterAll(() => webhook.close());

function withAdded(json: string): string {
  return aDelivery().body.replace('"payload":{', `"payload":{"added":${json},`);
}

const nested = (open: string, close: string, levels: number): string =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;

describe('an added field', () => {
  test('that nests too deep is refused without a fault', async () => {
    const bodies = [63, 1_750, 3_000, 6_000, 100_000].flatMap((levels) => [
      withAdded(nested('[', ']', levels)),
      withAdded(nested('{"a":', '}', levels)),
      withAdded('['.repeat(levels)),
      nested('[', ']', levels + 2),
    ]);
    await attackEach('deeply nested deliveries', bodies, async (body) => {
      return (await deliver(webhook.url, body)).statusCode === 400;
    });
    expect(raised.map(({ key }) => key)).not.toContain('inbox/unwritable');
    expect((await deliver(webhook.url, withAdded(nested('[', ']', 62)))).statusCode).toBe(200);
  });

  test('that is huge is kept like every added field', async () => {
    const values = [
      JSON.stringify({ ['k'.repeat(500_000)]: 1 }),
      `[${'1,'.repeat(200_000)}1]`,
      `{${Array.from({ length: 50_000 }, (_, index) => `"k${index}":0`).join(',')}}`,
      '9'.repeat(500_000),
      `1e${'9'.repeat(10_000)}`,
      `"${'\\u0000'.repeat(50_000)}"`,
      `"${'['.repeat(100_000)}"`,
      '{"__proto__":{"testEvent":true},"constructor":{"prototype":{"a":1}}}',
    ];
    await attackEach('huge added fields', values, async (value) => {
      return (await deliver(webhook.url, withAdded(value))).statusCode === 200;
    });
  });
});

test('stores a limited amount of unusable deliveries, with an alert', async () => {
  const parts = await openParts();
  let day = '2026-03-01';
  const receiver = createReceiver({ ...parts, alerts, now: () => new Date(`${day}T12:00:00Z`) });
  const large = Buffer.from(`{${' '.repeat(200_000)}`);
  expect(await receiver.receive(large)).toMatchObject({ statusCode: 400 });
  const [kept] = await parts.quarantine.list();
  expect(kept).toMatchObject({ sizeBytes: 65_536, reason: expect.stringContaining('of its 200001 bytes') });
  for (let at = 1; at < 510; at += 1)
    expect(await receiver.receive(Buffer.from(`{ ${at}`))).toMatchObject({ statusCode: 400 });
  expect(await parts.quarantine.list()).toHaveLength(500);
  expect(raised.map(({ key }) => key)).toContain('quarantine/flood');
  expect(await receiver.receive(Buffer.from(aDelivery().body))).toMatchObject({ statusCode: 200 });
  day = '2026-03-02';
  await receiver.receive(Buffer.from('{ tomorrow'));
  expect(await parts.quarantine.list()).toHaveLength(501);
  await receiver.settle();
});
