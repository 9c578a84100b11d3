import { expect, test } from 'vitest';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import type { Alerts } from '../../lib/alerts/alerts.ts';
import { createFailedLogins, type FailedLogins } from '../../lib/failed-logins.ts';
import { createLogger } from '../../lib/log/log.ts';
import { startWebhook, WRONG_CREDENTIALS } from '../../webhook/server.ts';
import { deliverFrom } from '../chaos/hostile-sockets.ts';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { aDelivery, basic, deliver, openParts, testSettings } from '../webhook/a-delivery.ts';

interface Watched {
  readonly logins: FailedLogins;
  readonly waits: (() => void)[];
  readonly waitedMs: number[];
  readonly logged: string[];
  readonly alerts: Alerts;
  readonly raised: Alert[];
  readonly resolved: string[];
}

function watched(): Watched {
  const waits: (() => void)[] = [];
  const waitedMs: number[] = [];
  const logged: string[] = [];
  const raised: Alert[] = [];
  const resolved: string[] = [];
  const alerts: Alerts = {
    raise: (alert) => void raised.push(alert),
    resolve: (key) => void resolved.push(key),
    close: () => Promise.resolve(),
  };
  const log = createLogger(testSettings('/nowhere'), 'webhook', { write: (line) => logged.push(line) });
  const wait = (ms: number): Promise<void> => {
    waitedMs.push(ms);
    return new Promise((resolve) => waits.push(resolve));
  };
  return {
    logins: createFailedLogins({ log, alerts, wait, messages: WRONG_CREDENTIALS }),
    waits,
    waitedMs,
    logged,
    alerts,
    raised,
    resolved,
  };
}

test('an address that goes on guessing is not forgotten for many that guess once', async () => {
  const { logins, waits, waitedMs } = watched();
  const guess = async (address: string): Promise<void> => {
    const failed = logins.failed(address);
    for (const wait of waits.splice(0)) wait();
    await failed;
  };
  for (let n = 0; n < 20_000; n += 1) {
    if (n % 2_000 === 0) await guess('203.0.113.7');
    await guess(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  }
  expect(waitedMs.at(-1)).toBe(2_000);
});

test('delays 300 wrong passwords, with one line and one alert, and refuses the address while 20 of its guesses wait', async () => {
  const { logins, waits, waitedMs, logged, raised } = watched();
  const compared: Promise<void>[] = [];
  while (compared.length < 300) {
    while (!logins.isOver('203.0.113.7') && compared.length < 300)
      compared.push(logins.failed('203.0.113.7'));
    expect(logins.isOver('203.0.113.8')).toBe(false);
    expect(waits.length).toBeLessThanOrEqual(20);
    for (const wait of waits.splice(0)) wait();
    await Promise.all(compared);
  }
  expect(waitedMs.slice(0, 6)).toEqual([100, 200, 400, 800, 1_600, 2_000]);
  // The 1st, 2nd, 4th, …, 256th.
  expect(logged).toHaveLength(9);
  expect(JSON.parse(logged[0] ?? '{}')).toMatchObject({ address: '203.0.113.7' });
  expect(new Set(raised.map(({ key }) => key))).toEqual(new Set(['webhook/wrong-credentials']));
  attack('wrong passwords in a row that are not answered at once', {
    tries: 297,
    held: waitedMs.length,
  });
});

test('reports a service with an old password until it has the right one', async () => {
  const { logins, raised, resolved } = watched();
  await logins.failed('203.0.113.7');
  expect(raised).toEqual([]);
  await logins.failed('203.0.113.7');
  expect(raised[0]?.detail).toContain('BILLSYNC_WEBHOOK_BASIC_AUTH');
  logins.succeeded('203.0.113.8');
  expect(resolved).toEqual([]);
  logins.succeeded('203.0.113.7');
  expect(resolved).toEqual(['webhook/wrong-credentials']);
});

test('an address with 20 guesses that wait learns nothing from further ones, others are accepted', async () => {
  const webhook = await startWebhook(await openParts());
  const guess = (password: string) =>
    deliver(webhook.url, '{}', { headers: { authorization: basic('hook', password) } }).then(
      ({ statusCode }) => statusCode,
    );
  const guesses = Array.from({ length: 60 }, () => guess('wrong'));
  await eventually(async () => (await guess('wrong')) === 429);
  expect(await deliver(webhook.url, aDelivery().body).then(({ statusCode }) => statusCode)).toBe(429);
  expect(await deliverFrom('127.0.0.77', webhook.url)).toBe(200);
  const statuses = await Promise.all(guesses);
  attack('guesses beyond the bound', {
    tries: 60,
    held: statuses.filter((status) => [401, 429].includes(status)).length,
  });
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(20);
  await webhook.close();
});

test('does not delay right credentials from the same address', async () => {
  const webhook = await startWebhook(await openParts());
  let refused = 0;
  const guesses = Array.from({ length: 12 }, async () => {
    const reply = await deliver(webhook.url, '{}', { headers: { authorization: basic('hook', 'wrong') } });
    refused += 1;
    return reply.statusCode;
  });
  await eventually(() => refused >= 3);
  expect((await deliver(webhook.url, aDelivery().body)).statusCode).toBe(200);
  expect(refused).toBeLessThan(12);
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([401]));
  await webhook.close();
});
