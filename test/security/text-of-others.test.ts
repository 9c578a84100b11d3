import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { CliError, EXIT, printError } from '../../cli/errors.ts';
import { printResult } from '../../cli/report-output.ts';
import { createOutput } from '../../cli/terminal/output.ts';
import { createAlerts } from '../../lib/alerts/alerts.ts';
import { openChannels } from '../../lib/alerts/channels.ts';
import { createLogger } from '../../lib/log/log.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { attackEach, attackResult } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { alertSettings, testSettings } from '../webhook/a-delivery.ts';

const folder = testFolder();

const TEXTS: readonly string[] = [
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
/** Characters that end a line, or that a terminal acts on. */
const ACTS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b]/u;

describe.each(['json', 'pretty'] as const)('a %s log', (format) => {
  const settings = { ...testSettings('/nowhere'), log: { level: 'debug', format } } as const;

  test.each([
    ['its message', (foreign: string) => [{}, `invoice ${foreign} waits`] as const],
    ['a field', (foreign: string) => [{ invoice: foreign }, 'waits'] as const],
    ['a field within a field', (foreign: string) => [{ a: { b: [foreign] } }, 'waits'] as const],
    ['the name of a field', (foreign: string) => [{ [foreign]: 1 }, 'waits'] as const],
    ['an error', (foreign: string) => [{ err: new Error(foreign) }, 'failed'] as const],
    [
      'the cause of an error',
      (foreign: string) => [{ err: new Error('x', { cause: new Error(foreign) }) }, 'x'] as const,
    ],
  ])('logs foreign text in %s as text', (where, line) => {
    return attackEach(`log (${format}): foreign text in ${where}`, TEXTS, (foreign) => {
      const written: string[] = [];
      const log = createLogger(settings, 'worker', { write: (text) => written.push(text) });
      const [fields, message] = line(foreign);
      log.warn(fields, message);
      const text = written.join('');
      if (format === 'json') {
        const isOne = text.endsWith('\n') && !ACTS.test(text.slice(0, -1));
        const { level, role } = JSON.parse(text) as { level: string; role: string };
        return isOne && level === 'warn' && role === 'worker';
      }
      // An error's stack has lines of its own, each of them indented.
      const lines = text.trimEnd().split('\n');
      return lines.every((each, at) => !ACTS.test(each) && (at === 0 || /^ +\S/.test(each) || each === ''));
    });
  });
});

test('a report on the terminal prints foreign text of its filters and notes as text', () => {
  return attackEach('report on a terminal: foreign text in filters and notes', TEXTS, async (foreign) => {
    const printed: string[] = [];
    const output = createOutput({ form: 'table', quiet: false });
    const filters = { by: 'ship-date', from: null, to: null, partners: [], tenants: [foreign], carriers: [] };
    const head = {
      ...{
        filters: { ...filters, zones: [], currencies: [], asKnownOn: null },
        parameters: { rate: foreign },
      },
      ...{
        notes: [`Not counted: 1 known invoice: ${foreign} (draft)`],
        matches: [],
        files: [],
        found: 0,
        rows: 0,
      },
      ...{ level: 'tenant', shipments: '0', provedPercent: null, asOf: '', publication: 1, timeZone: 'UTC' },
      weighed: { inPounds: 0, inKilograms: 0, without: 0 },
    };
    const result = { name: 'tenants', title: 'Cost', columns: [], rows: [], head } as unknown as ReportResult;
    await printResult(result, {
      format: 'json',
      output: { ...output, note: (text) => void printed.push(text) },
      flags: { output: join(folder, 'report.json'), dryRun: true },
    });
    const lines = printed.flatMap((text) => text.split('\n'));
    return lines.length === 6 && lines.every((line) => !ACTS.test(line));
  });
});

test('an error of a command is at most three lines, whatever text it quotes', () => {
  return attackEach('error of a command: foreign text', TEXTS, (foreign) => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const error = new CliError(EXIT.serviceError, `it answered ${foreign}`, {
        subject: foreign,
        hint: foreign,
      });
      printError(error, { verbose: false });
      const text = write.mock.calls.map(([part]) => String(part)).join('');
      const lines = text.trimEnd().split('\n');
      return lines.length <= 3 && lines.every((line) => !ACTS.test(line));
    } finally {
      write.mockRestore();
    }
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

  async function sentTo(webhookUrl: string, foreign: string): Promise<string> {
    const settings = { ...testSettings('/nowhere'), alerts: alertSettings({ webhookUrl }) };
    const sent: object[] = [];
    const channels = openChannels({ settings, post: async (_url, body) => void sent.push(body) });
    const notice = {
      at: '2026-03-01T00:00:00.000Z',
      key: 'a',
      title: `Invoice ${foreign}`,
      detail: foreign,
      runbook: '',
      severity: 'warning',
      host: 'one',
    } as const;
    for (const channel of channels) await channel.send({ ...notice, state: 'raised', repeated: 0 });
    return JSON.stringify(sent);
  }

  test.each(['https://hooks.slack.com/services/T0/B0/x', 'https://x.webhook.office.com/y'])(
    'at %s mentions no user and has no link',
    async (url) => {
      await attackEach('alerts: markup of chats in foreign text', CALLS, async (foreign) => {
        return !/[<>]|@|\]\(/.test(await sentTo(url, foreign));
      });
    },
  );

  test('is one line in its file for every text', async () => {
    const file = join(folder, 'alerts.ndjson');
    const settings = { ...testSettings('/nowhere'), alerts: alertSettings({ file }) };
    const log = createLogger(settings, 'worker', { write: () => undefined });
    const alerts = createAlerts({ settings, log, scrub: (text) => text });
    for (const [at, foreign] of TEXTS.entries()) {
      alerts.raise({
        key: `attention/${at}`,
        title: `Invoice ${foreign} waits`,
        detail: `Because of ${foreign}.`,
      });
    }
    await alerts.close();
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(TEXTS.length);
    const notices = lines.map((line) => JSON.parse(line) as { title: string; detail: string });
    const missed = notices.filter(({ title, detail }) => ACTS.test(title + detail));
    attackResult('alerts: foreign text in title and detail', notices, missed);
  });
});
