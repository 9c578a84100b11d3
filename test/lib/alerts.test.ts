import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { AlertKey } from '../../lib/alerts/alert-names.ts';
import { acknowledgeAlerts, openAlerts, quietAlerts } from '../../lib/alerts/alert-store.ts';
import { createAlerts } from '../../lib/alerts/alerts.ts';
import { openChannels } from '../../lib/alerts/channels.ts';
import { durationMs } from '../../lib/config/setting-values.ts';
import { createLogger } from '../../lib/log/log.ts';
import { createScrub } from '../../lib/log/scrub.ts';
import { createMetrics, type Metrics } from '../../lib/metrics.ts';
import { testFolder } from '../support/folders.ts';
import { listen } from '../support/listen.ts';
import { alertSettings, testSettings } from '../webhook/a-delivery.ts';

const servers: Server[] = [];
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  // Alerts write to their store a moment later, also after the folder of the test was removed.
  await Promise.all(opened.splice(0).map((alerts) => alerts.close()));
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A chat that answers with the given codes, then with 200. */
async function aChat(...codes: number[]): Promise<{ url: string; posts: { text: string }[] }> {
  const posts: { text: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      posts.push(JSON.parse(Buffer.concat(chunks).toString()) as { text: string });
      response.writeHead(codes.shift() ?? 200).end();
    });
  });
  servers.push(server);
  return { url: `http://127.0.0.1:${await listen(server)}/hook?key=chat-secret`, posts };
}

async function alertsWith(sinks: {
  webhookUrl?: string;
  file?: string;
  dataDir?: string;
  role?: string;
  runbookUrl?: string;
  metrics?: Metrics;
}) {
  const logged: string[] = [];
  const settings = {
    ...testSettings('/nowhere'),
    alerts: alertSettings({
      file: sinks.file ?? null,
      webhookUrl: sinks.webhookUrl ?? null,
      runbookUrl: sinks.runbookUrl ?? null,
    }),
  };
  let nowMs = Date.parse('2026-03-01T00:00:00Z');
  const alerts = createAlerts({
    settings,
    log: createLogger(settings, 'worker', { write: (line) => logged.push(line) }),
    scrub: createScrub(settings),
    now: () => new Date(nowMs),
    retryAfterMs: 10,
    ...(sinks.dataDir === undefined
      ? {}
      : { store: { dataDir: sinks.dataDir, role: sinks.role ?? 'worker' } }),
    ...(sinks.metrics === undefined ? {} : { metrics: sinks.metrics }),
  });
  opened.push(alerts);
  const wait = (duration: string): void => {
    nowMs += durationMs(duration);
  };
  return { alerts, logged, wait };
}

async function sentTo(webhookUrl: string): Promise<object[]> {
  const settings = { ...testSettings('/nowhere'), alerts: alertSettings({ webhookUrl }) };
  const sent: object[] = [];
  const channels = openChannels({ settings, post: async (_url, body) => void sent.push(body) });
  const notice = {
    at: '2026-03-01T00:00:00.000Z',
    key: 'a',
    title: 'Sad.',
    detail: 'Why.',
    runbook: 'RUNBOOK',
    severity: 'critical',
    host: 'one',
  } as const;
  for (const channel of channels) await channel.send({ ...notice, state: 'raised', repeated: 2 });
  return sent;
}

describe('the shape of a message', () => {
  test('is text for Slack and compatible chats', async () => {
    expect(await sentTo('https://hooks.slack.com/services/T0/B0/secret')).toEqual([
      {
        text: '[billsync test, critical, one] Sad. (2 more since the last notice)\nWhy.\nWhat to do: RUNBOOK',
      },
    ]);
  });

  test.each([
    'https://prod-1.westeurope.logic.azure.com:443/workflows/1/triggers/manual/paths/invoke?sig=s',
    'https://default1.ab.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/1',
    'https://example.webhook.office.com/webhookb2/1/IncomingWebhook/2',
  ])('is one Adaptive Card for Microsoft Teams (%s)', async (url) => {
    const [{ type, attachments }] = (await sentTo(url)) as [{ type: string; attachments: object[] }];
    expect(type).toBe('message');
    expect(attachments).toMatchObject([
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          ...{ type: 'AdaptiveCard', version: '1.4' },
          body: [
            {
              type: 'TextBlock',
              text: '[billsync test, critical, one] Sad. (2 more since the last notice)',
              wrap: true,
            },
            { type: 'TextBlock', text: 'Why.', wrap: true },
            { type: 'TextBlock', text: 'What to do: RUNBOOK', wrap: true },
          ],
        },
      },
    ]);
  });

  test('is text for a host that only ends like one of theirs', async () => {
    expect(await sentTo('https://webhook.office.com.example.org/x')).toEqual([{ text: expect.any(String) }]);
  });
});

describe('alerts', () => {
  test('neither repeats nor forgets alerts after a restart', async () => {
    const { url, posts } = await aChat();
    const dataDir = testFolder();
    const life = async (live: (alerts: Awaited<ReturnType<typeof alertsWith>>['alerts']) => void) => {
      const { alerts } = await alertsWith({ webhookUrl: url, dataDir });
      live(alerts);
      await alerts.close();
    };
    const alert = { key: 'attention/1', title: 'Invoice 1 needs attention', detail: 'why' } as const;
    await life((alerts) => alerts.raise(alert));
    await life((alerts) => alerts.raise(alert));
    expect(posts).toHaveLength(1);
    await life((alerts) => alerts.resolve(alert.key));
    await life((alerts) => alerts.resolve(alert.key));
    expect(posts.map(({ text }) => text.split('\n')[0])).toEqual([
      expect.stringContaining('Invoice 1 needs attention'),
      expect.stringContaining('Resolved: Invoice 1 needs attention'),
    ]);
  });

  describe('decisions of a person', () => {
    const at = '2026-03-01T00:30:00.000Z';
    const decided = { at, by: 'anna', note: 'asked the service' };
    async function aFolder() {
      const folder = testFolder();
      const file = join(folder, 'said.ndjson');
      const made = await alertsWith({ dataDir: folder, file });
      const states = async () => {
        await made.alerts.close();
        const lines = (await readFile(file, 'utf8')).trim().split('\n');
        return lines.map((line) => (JSON.parse(line) as { state: string }).state);
      };
      const open = async () => {
        await made.alerts.close();
        return (await openAlerts(folder, new Date(at))).map(({ key }) => key);
      };
      return { ...made, folder, states, open };
    }

    test('does not repeat an acknowledged alert until it ends', async () => {
      const { alerts, wait, folder, states, open } = await aFolder();
      const alert = { key: 'disk/full', title: 'Full.' } as const;
      alerts.raise(alert);
      expect(await open()).toEqual(['disk/full']);
      await acknowledgeAlerts(folder, [alert.key], decided);
      wait('5h');
      alerts.raise(alert);
      expect(await states()).toEqual(['raised']);
      expect(await openAlerts(folder)).toMatchObject([{ key: 'disk/full', acknowledged: decided }]);
      alerts.resolve(alert.key);
      alerts.raise(alert);
      expect(await states()).toEqual(['raised', 'resolved', 'raised']);
      expect(await openAlerts(folder)).toMatchObject([{ key: 'disk/full', acknowledged: null }]);
    });

    test('ends an acknowledged event and reports the next one', async () => {
      const { alerts, wait, folder, states, open } = await aFolder();
      const alert = { key: 'voided-after-load/1', title: 'Voided.' } as const;
      alerts.raise(alert);
      expect(await open()).toEqual([alert.key]);
      await acknowledgeAlerts(folder, [alert.key], decided);
      expect(await open()).toEqual([]);
      wait('31m');
      alerts.raise(alert);
      expect(await states()).toEqual(['raised', 'raised']);
      expect(await open()).toEqual([alert.key]);
    });

    test('lists a silenced alert without sending it until its time has passed', async () => {
      const { alerts, wait, folder, states } = await aFolder();
      const until = '2026-03-01T08:00:00.000Z';
      await quietAlerts(folder, ['drift'], { ...decided, until });
      alerts.raise({ key: 'drift', title: 'Sad.' });
      alerts.raise({ key: 'gaps', title: 'Other.' });
      expect(await states()).toEqual(['raised']);
      expect(await openAlerts(folder, new Date(at))).toMatchObject([
        { key: 'gaps', quieted: null },
        { key: 'drift', quieted: { until } },
      ]);
      wait('9h');
      alerts.raise({ key: 'drift', title: 'Sad.' });
      expect(await states()).toEqual(['raised', 'raised']);
    });

    test('leaves out entries of another form, and replaces a damaged file', async () => {
      const { alerts, folder, open } = await aFolder();
      const path = join(folder, 'user', 'alerts.json');
      alerts.raise({ key: 'quarantine/a', title: 'Sad.' });
      alerts.raise({ key: 'quarantine/b', title: 'Other.' });
      await alerts.close();
      await writeFile(path, (await readFile(path, 'utf8')).replace('"Sad."', '1'));
      expect(await open()).toEqual(['quarantine/b']);
      await writeFile(path, 'nonsense');
      alerts.raise({ key: 'gaps', title: 'New.' });
      expect(await open()).toEqual(['gaps']);
    });

    test('reports an unreadable list, and sends alerts without it', async () => {
      const { alerts, folder, states } = await aFolder();
      await mkdir(join(folder, 'user', 'alerts.json'), { recursive: true });
      alerts.raise({ key: 'gaps', title: 'Sad.' });
      alerts.resolve('gaps');
      expect(await states()).toEqual(['raised', 'resolved']);
      await expect(openAlerts(folder)).rejects.toThrow('EISDIR');
    });
  });

  test('sends one message for one cause, of several processes too, and none about its consequences', async () => {
    const { url, posts } = await aChat();
    const dataDir = testFolder();
    const [worker, webhook] = await Promise.all(
      ['worker', 'webhook'].map((role) => alertsWith({ webhookUrl: url, dataDir, role })),
    );
    const close = () => Promise.all([worker?.alerts.close(), webhook?.alerts.close()]);
    const raise = (of: typeof worker, key: AlertKey) => of?.alerts.raise({ key, title: `${key}.` });
    // The consequence is found before its cause.
    raise(worker, 'disk/no-room');
    raise(worker, 'publication');
    raise(worker, 'disk/full');
    raise(worker, 'clock');
    await worker?.alerts.close();
    raise(webhook, 'clock');
    raise(webhook, 'component/archive');
    webhook?.alerts.resolve('component/archive');
    worker?.alerts.resolve('disk/no-room');
    await close();
    expect(posts.map(({ text }) => /\] (\S+)\./.exec(text)?.[1])).toEqual(['disk/full', 'clock']);
    expect((await openAlerts(dataDir)).map(({ key }) => key).sort()).toEqual([
      'clock',
      'disk/full',
      'publication',
    ]);
    worker?.alerts.resolve('disk/full');
    worker?.alerts.resolve('publication');
    worker?.alerts.resolve('clock');
    await close();
    webhook?.alerts.resolve('clock');
    await close();
    expect(posts.slice(2).map(({ text }) => text.split('\n')[0])).toEqual([
      expect.stringContaining('Resolved: disk/full.'),
      expect.stringContaining('Resolved: clock.'),
    ]);
  });

  test('sends once per quiet window to every sink, then the count', async () => {
    const { url, posts } = await aChat();
    const file = join(testFolder(), 'alerts.ndjson');
    const { alerts, logged, wait } = await alertsWith({ webhookUrl: url, file });
    const alert = { key: 'drift', title: 'Sad.', detail: 'Look at https://s.example/x?sig=secret' } as const;
    for (let i = 0; i < 5; i += 1) alerts.raise(alert);
    wait('61m');
    alerts.raise(alert);
    alerts.resolve('drift');
    alerts.resolve('drift');
    alerts.resolve('gaps');
    await alerts.close();
    const detail = '\nLook at https://s.example/x\nWhat to do: billsync alerts explain drift';
    const from = `[billsync test, critical, ${hostname()}]`;
    expect(posts.map((post) => post.text)).toEqual([
      `${from} Sad.${detail}`,
      `${from} Sad. (4 more since the last notice)${detail}`,
      `${from} Resolved: Sad.`,
    ]);
    const lines = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { at: '2026-03-01T00:00:00.000Z', state: 'raised', key: 'drift', title: 'Sad.', repeated: 0 },
      { state: 'raised', repeated: 4 },
      { state: 'resolved' },
    ]);
    expect(logged.filter((line) => line.includes('alert raised'))).toHaveLength(2);
  });

  test('counts open alerts by name and severity, also after a restart', async () => {
    const dataDir = testFolder();
    const first = createMetrics('worker');
    const { alerts } = await alertsWith({ dataDir, metrics: first });
    alerts.raise({ key: 'attention/1', title: 'One.' });
    alerts.raise({ key: 'attention/2', title: 'Two.' });
    alerts.raise({ key: 'drift', title: 'Drift.' });
    await alerts.close();
    alerts.resolve('drift');
    await alerts.close();
    const open = (name: string, severity: string, count: number) =>
      `billsync_alerts_open{alert="${name}",severity="${severity}",role="worker"} ${count}\n`;
    expect(await first.text()).toContain(open('attention', 'warning', 2));
    expect(await first.text()).toContain(open('drift', 'critical', 0));
    const second = createMetrics('worker');
    await alertsWith({ dataDir, metrics: second });
    expect(await second.text()).toContain(open('attention', 'warning', 2));
  });

  test('retries a failing chat and gives up silently', async () => {
    const { url, posts } = await aChat(500, 503);
    const once = await alertsWith({ webhookUrl: url });
    once.alerts.raise({ key: 'drift', title: 'Sad.' });
    await once.alerts.close();
    expect(posts).toHaveLength(3);
    expect(once.logged.join('')).not.toContain('alert not sent');

    const gone = await alertsWith({
      webhookUrl: 'http://127.0.0.1:1/?key=chat-secret',
      file: '/nowhere/alerts',
    });
    gone.alerts.raise({ key: 'drift', title: 'Sad.' });
    gone.alerts.raise({ key: 'gaps', title: 'Sad too.' });
    await gone.alerts.close();
    expect(gone.logged.filter((line) => line.includes('alert not sent'))).toHaveLength(2);
    expect(gone.logged.join('')).not.toContain('chat-secret');
  });
});
