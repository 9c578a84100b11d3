/** Words of the service, of senders and of files reach logs, alerts and chats: none begins a line, a command or a link of its own. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createAlerts } from '../../lib/alerts/alerts.ts';
import { openChannels } from '../../lib/alerts/channels.ts';
import { createLogger } from '../../lib/log/log.ts';
import { attack } from '../support/attack.ts';
import { alertSettings, testSettings } from '../webhook/a-delivery.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-words-'));
afterAll(() => rmSync(folder, { recursive: true }));

const WORDS: readonly string[] = [
  'INV-1\n{"level":"info","msg":"all is well"}',
  'INV-1\r\n[12:00:00] INFO: worker: invoice INV-2 is loaded',
  'INV-1\r',
  '\u001b[2J\u001b[H',
  '\u001b]0;title\u0007',
  '\u001b]8;;https://elsewhere.example\u001b\\here\u001b]8;;\u001b\\',
  '\u009b2J',
  '\u0085next line',
  '\u2028\u2029',
  'INV\u202e1-',
  '\u2066\u2069',
  'INV\u200b-1',
  '\u0000\u0008\u007f',
  '","level":"fatal","x":"',
];
/** As a person reads them: no end of a line, nothing that a terminal acts on. */
const ACTS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b]/u;

describe.each(['json', 'pretty'] as const)('a %s log', (format) => {
  const settings = { ...testSettings('/nowhere'), log: { level: 'debug', format } } as const;

  test.each([
    ['its message', (word: string) => [{}, `invoice ${word} is parked`] as const],
    ['a field', (word: string) => [{ invoice: word }, 'parked'] as const],
    ['a field within a field', (word: string) => [{ a: { b: [word] } }, 'parked'] as const],
    ['the name of a field', (word: string) => [{ [word]: 1 }, 'parked'] as const],
    ['an error', (word: string) => [{ err: new Error(word) }, 'failed'] as const],
    [
      'the cause of an error',
      (word: string) => [{ err: new Error('x', { cause: new Error(word) }) }, 'x'] as const,
    ],
  ])('shows words of others in %s as words', (where, line) => {
    let held = 0;
    for (const word of WORDS) {
      const written: string[] = [];
      const log = createLogger(settings, 'worker', { write: (text) => written.push(text) });
      const [fields, message] = line(word);
      log.warn(fields, message);
      const text = written.join('');
      if (format === 'json') {
        const isOne = text.endsWith('\n') && !ACTS.test(text.slice(0, -1));
        const { level, role } = JSON.parse(text) as { level: string; role: string };
        if (isOne && level === 'warn' && role === 'worker') held += 1;
      } else {
        // An error's stack has lines of its own, each of them moved in.
        const lines = text.trimEnd().split('\n');
        const isHarmless = lines.every(
          (each, at) => !ACTS.test(each) && (at === 0 || /^ +\S/.test(each) || each === ''),
        );
        if (isHarmless) held += 1;
      }
    }
    attack(`log (${format}): words of others in ${where}`, { tries: WORDS.length, held });
  });
});

describe('an alert', () => {
  const CALLS = [
    '<!channel> pay at once',
    '<@U012AB3CD>',
    '<https://elsewhere.example|the invoice>',
    '@channel @all @here',
    '[the invoice](https://elsewhere.example)',
    '![](https://elsewhere.example/pixel.png)',
    '<users/all>',
    '<at>everybody</at>',
  ];

  async function told(webhookUrl: string, words: string): Promise<string> {
    const settings = { ...testSettings('/nowhere'), alerts: alertSettings({ webhookUrl }) };
    const sent: object[] = [];
    const channels = openChannels({ settings, post: async (_url, body) => void sent.push(body) });
    const notice = {
      at: '2026-03-01T00:00:00.000Z',
      key: 'a',
      title: `Invoice ${words}`,
      detail: words,
      runbook: '',
    };
    for (const channel of channels) await channel.send({ ...notice, state: 'raised', repeated: 0 });
    return JSON.stringify(sent);
  }

  test.each(['https://hooks.slack.com/services/T0/B0/x', 'https://x.webhook.office.com/y'])(
    'at %s calls nobody and links nowhere',
    async (url) => {
      let held = 0;
      for (const words of CALLS) {
        const text = await told(url, words);
        if (!/[<>]|@|\]\(/.test(text)) held += 1;
      }
      attack('alerts: markup of chats in words of others', { tries: CALLS.length, held });
    },
  );

  test('is one line in its file for every text', async () => {
    const file = join(folder, 'alerts.ndjson');
    const settings = { ...testSettings('/nowhere'), alerts: alertSettings({ file }) };
    const log = createLogger(settings, 'worker', { write: () => undefined });
    const alerts = createAlerts({ settings, log, scrub: (text) => text });
    for (const [at, word] of WORDS.entries()) {
      alerts.raise({
        key: `attention/${at}`,
        title: `Invoice ${word} is parked`,
        detail: `Because of ${word}.`,
      });
    }
    await alerts.close();
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(WORDS.length);
    const notices = lines.map((line) => JSON.parse(line) as { title: string; detail: string });
    const held = notices.filter(({ title, detail }) => !ACTS.test(title + detail)).length;
    attack('alerts: words of others in title and detail', { tries: WORDS.length, held });
  });
});
