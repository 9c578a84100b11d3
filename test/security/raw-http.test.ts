/**
 * Requests that no HTTP library sends, byte for byte at the endpoint: two readings of one message, broken framing, odd
 * targets and methods. Each gets the answer of its row, and only open deliveries are stored.
 */

import { afterAll, expect, test } from 'vitest';
import { createSemaphore } from '../../lib/semaphore.ts';
import { startWebhook } from '../../webhook/server.ts';
import { attack } from '../support/attack.ts';
import { aDelivery, basic, deliver, openParts } from '../webhook/a-delivery.ts';
import { speak, statusesIn } from './hostile/raw-http.ts';

const parts = await openParts();
const webhook = await startWebhook({ ...parts, limits: { requestMs: 1_500 } });
afterAll(() => webhook.close());

const PATH = '/webhooks/billing';
/** Each costs both ends a handshake, and slow ones are cut. */
const AT_ONCE = 12;
interface Row {
  readonly attack: string;
  readonly parts: readonly string[];
  /** Any of these lists of answers; an empty list is a connection that was cut. */
  readonly answers: readonly (readonly number[])[];
  readonly keeps?: readonly string[];
  readonly betweenMs?: number;
  readonly protocols?: readonly string[];
}

const REFUSED: Row['answers'] = [[400]];
const CUT_OR_REFUSED: Row['answers'] = [[400], []];

interface Head {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  readonly host?: string;
  readonly lines?: readonly string[];
  readonly authorization?: string;
}

function head({
  method = 'POST',
  target = PATH,
  version = 'HTTP/1.1',
  host = 'Host: localhost',
  lines = [],
  authorization = basic(),
}: Head = {}): string {
  const all = [`${method} ${target} ${version}`, host, `Authorization: ${authorization}`, ...lines];
  return `${all.filter((line) => line !== '').join('\r\n')}\r\n\r\n`;
}

const one = aDelivery;
const size = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}`;
const CLOSE = 'Connection: close';
const CHUNKED = 'Transfer-Encoding: chunked';
const chunk = (text: string, extension = ''): string =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`;

/** A complete delivery at a place that only one reading of the message takes for a request. */
function hidden(): string {
  const { body } = one();
  return head({ lines: [size(body), CLOSE] }) + body;
}

function framing(): readonly Row[] {
  const refusedHeads: readonly (readonly [string, readonly string[]])[] = [
    ['a length and chunks', ['Content-Length: 5', CHUNKED]],
    ['chunks and a length', [CHUNKED, 'Content-Length: 5']],
    ['two lengths', ['Content-Length: 0', 'Content-Length: 5']],
    ['one length twice', ['Content-Length: 5', 'Content-Length: 5']],
    ['a list of lengths', ['Content-Length: 5, 5']],
    ['a length with a sign', ['Content-Length: +5']],
    ['a length below zero', ['Content-Length: -1']],
    ['a length in hexadecimal', ['Content-Length: 0x5']],
    ['a length that is empty', ['Content-Length: ']],
    ['a length with a space in it', ['Content-Length: 5 5']],
    ['a length beyond 64 bits', [`Content-Length: ${'9'.repeat(40)}`]],
    ['an unknown transfer coding', ['Transfer-Encoding: xchunked']],
    ['chunks that are not last', ['Transfer-Encoding: chunked, gzip']],
    ['chunks of chunks', ['Transfer-Encoding: chunked, chunked', 'Content-Length: 5']],
    ['a coding behind a vertical tab', ['Transfer-Encoding: \u000bchunked']],
    ['a coding behind a form feed', ['Transfer-Encoding: chunked\u000c']],
    ['a space before the colon', ['Transfer-Encoding : chunked']],
    ['a space before the colon of the length', ['Content-Length : 5']],
    ['a tab before the colon', ['Transfer-Encoding\t: chunked']],
    ['a coding folded onto the next line', ['Transfer-Encoding:\r\n chunked']],
    ['a header folded onto the next line', ['X-Odd: a\r\n b']],
    ['a header that begins with a space', [' X-Odd: a']],
    ['a name with NUL', ['X-\u0000Odd: a']],
    ['a value with NUL', ['X-Odd: a\u0000b']],
    ['a bare CR in a value', ['X-Odd: a\rX-Other: b']],
    ['a bare LF in a value', ['X-Odd: a\nTransfer-Encoding: chunked']],
    ['a line without a colon', ['X-Odd']],
    ['a name that is empty', [': a']],
    ['a name in brackets', ['(X): a']],
  ];
  const rows = refusedHeads.map(
    ([name, lines]): Row => ({
      attack: `framing: ${name}`,
      parts: [`${head({ lines })}0\r\n\r\n${hidden()}`],
      answers: CUT_OR_REFUSED,
    }),
  );
  const badChunks: readonly (readonly [string, string])[] = [
    ['a size beyond 64 bits', `${'F'.repeat(17)}\r\nx\r\n`],
    ['a size that wraps to zero', `1${'0'.repeat(16)}\r\n0\r\n\r\n`],
    ['a size below zero', '-1\r\nx\r\n'],
    ['a size with a prefix', '0x5\r\nhello\r\n0\r\n\r\n'],
    ['a size with a sign', '+5\r\nhello\r\n0\r\n\r\n'],
    ['a size with a space before it', ' 5\r\nhello\r\n0\r\n\r\n'],
    ['a size that is empty', '\r\nhello\r\n0\r\n\r\n'],
    ['a size that ends in LF', '5\nhello\r\n0\r\n\r\n'],
    ['no line end behind the bytes', '5\r\nhello0\r\n\r\n'],
    ['more bytes than announced', '3\r\nhello\r\n0\r\n\r\n'],
    ['an extension with a line end', '5;a=\nb\r\nhello\r\n0\r\n\r\n'],
  ];
  return [
    ...rows,
    ...badChunks.map(
      ([name, text]): Row => ({
        attack: `chunks: ${name}`,
        parts: [`${head({ lines: [CHUNKED] })}${text}${hidden()}`],
        answers: CUT_OR_REFUSED,
      }),
    ),
    {
      attack: 'chunks: an extension of 40 KB',
      parts: [`${head({ lines: [CHUNKED] })}${chunk('{}', `;a=${'x'.repeat(40_000)}`)}0\r\n\r\n`],
      answers: [[413], [400], []],
    },
    {
      attack: 'chunks: 20,000 headers behind the last one',
      parts: [`${head({ lines: [CHUNKED] })}${chunk('{}')}0\r\n${'a: b\r\n'.repeat(20_000)}\r\n`],
      answers: [[431], [400], [413], []],
    },
  ];
}

function senders(): readonly Row[] {
  const [first, second, third, absolute, extended] = [one(), one(), one(), one(), one()];
  const late = one();
  const old = one();
  const pipelined = (lines: readonly string[], { body }: { body: string }): string =>
    head({ lines: [size(body), ...lines] }) + body;
  return [
    {
      attack: 'pipelining: three deliveries in one packet',
      parts: [pipelined([], first) + pipelined([], second) + pipelined([CLOSE], third)],
      answers: [[200, 200, 200]],
      keeps: [first.eventId, second.eventId, third.eventId],
    },
    {
      attack: 'pipelining: a delivery behind one with a wrong password',
      parts: [`${head({ authorization: basic('hook', 'no'), lines: ['Content-Length: 2'] })}{}${hidden()}`],
      answers: [[401]],
    },
    {
      attack: 'pipelining: a delivery in the body of a refused request',
      parts: [((inside) => head({ authorization: 'Basic eDp5', lines: [size(inside)] }) + inside)(hidden())],
      answers: [[401]],
    },
    {
      attack: 'pipelining: a delivery behind a compressed one',
      parts: [`${head({ lines: ['Content-Encoding: gzip', 'Content-Length: 2'] })}{}${hidden()}`],
      answers: [[415]],
    },
    {
      attack: 'pipelining: a delivery behind a body of another method',
      parts: [`${head({ method: 'GET', lines: ['Content-Length: 2'] })}{}${hidden()}`],
      answers: [[405]],
    },
    {
      attack: 'chunks: one byte each, with extensions',
      parts: [
        head({ lines: [CHUNKED, CLOSE] }) +
          [...extended.body].map((byte) => chunk(byte, ';ext="1"')).join('') +
          '0\r\nTrailer: x\r\n\r\n',
      ],
      answers: [[200]],
      keeps: [extended.eventId],
    },
    {
      attack: 'time: a byte of the body every 200 ms',
      parts: [head({ lines: ['Content-Length: 100'] }), ...'{"metadata":{}'],
      betweenMs: 200,
      answers: [[408], []],
    },
    {
      attack: 'time: a chunk every 200 ms',
      parts: [head({ lines: [CHUNKED] }), ...Array<string>(14).fill(chunk(' '))],
      betweenMs: 200,
      answers: [[408], []],
    },
    {
      attack: 'time: a header every 200 ms',
      parts: [`POST ${PATH} HTTP/1.1\r\n`, ...Array<string>(14).fill('a: b\r\n')],
      betweenMs: 200,
      answers: [[408], []],
    },
    {
      attack: 'targets: a whole address of another host',
      parts: [
        head({ target: `https://elsewhere.example${PATH}`, lines: [size(absolute.body), CLOSE] }) +
          absolute.body,
      ],
      answers: [[200]],
      keeps: [absolute.eventId],
    },
    {
      attack: 'hosts: another name',
      parts: [pipelined([CLOSE], late).replace('Host: localhost', 'Host: elsewhere.example')],
      answers: [[200]],
      keeps: [late.eventId],
    },
    {
      attack: 'versions: HTTP/1.0 without a host',
      parts: [head({ version: 'HTTP/1.0', host: '', lines: [size(old.body)] }) + old.body],
      answers: [[200]],
      keeps: [old.eventId],
    },
  ];
}

function requests(): readonly Row[] {
  const bare = (name: string, line: Head, answers: Row['answers']): Row => ({
    attack: name,
    parts: [`${head({ ...line, lines: [...(line.lines ?? []), 'Content-Length: 2', CLOSE] })}{}`],
    answers,
  });
  const elsewhere = [
    '/',
    '//webhooks/billing',
    '/webhooks//billing',
    '/webhooks/billing/../other',
    '/webhooks/billing/%2e%2e/other',
    '/webhooks%5cbilling',
    '/%2577ebhooks/billing',
    '/webhooks/billing%2500',
    '/webhooks/billing%00',
    '/webhooks/billing;x=1',
    '/WEBHOOKS/billing',
    '/webhooks/billing%c0%af..',
    '/webhooks/billing%zz',
    '/webhooks/billing%',
    '/webhooks/billing\u00e9',
    '/../../../etc/passwd',
    '/..%2f..%2f..%2fetc%2fpasswd',
    '/%2e%2e%2f%2e%2e%2fkeys%2fwebhook-key.pem',
    '/....//....//keys/webhook-key.pem',
    '/healthz/../webhooks/billingx',
    '/static/..%5c..%5ckeys',
    'http://[::1',
    'javascript:alert(1)',
    '*',
    '?',
    'webhooks/billing',
  ];
  return [
    ...elsewhere.map((target) => bare(`targets: ${target}`, { target }, [[404], [400]])),
    bare('targets: 100 KB long', { target: `${PATH}/${'a'.repeat(100_000)}` }, [[431], [400], []]),
    bare('targets: 8 KB of queries', { target: `${PATH}?${'a=b&'.repeat(2_000)}` }, [[400]]),
    bare('hosts: none', { host: '' }, REFUSED),
    bare('hosts: two', { host: 'Host: a\r\nHost: b' }, [[400]]),
    bare('hosts: an address with a path', { host: 'Host: localhost/webhooks/../x' }, [[400]]),
    bare('headers: 3,000', { lines: Array<string>(3_000).fill('a: b') }, [[400], [431], []]),
    bare('headers: 60 KB in one', { lines: [`X-Odd: ${'x'.repeat(60_000)}`] }, [[431], []]),
    bare('headers: two passwords', { lines: [`Authorization: ${basic('hook', 'no')}`] }, [[400], [401]]),
    bare('headers: a password of 12 KB', { authorization: basic('hook', 'x'.repeat(9_000)) }, [[401]]),
    bare('headers: __proto__', { lines: ['__proto__: x', 'constructor: y'] }, [[400]]),
    bare('encodings: a list', { lines: ['Content-Encoding: gzip, gzip, br'] }, [[415]]),
    bare('encodings: identity and gzip', { lines: ['Content-Encoding: identity, gzip'] }, [[415]]),
    bare('encodings: twice', { lines: ['Content-Encoding: identity', 'Content-Encoding: gzip'] }, [[415]]),
    bare('upgrades: websocket', { lines: ['Upgrade: websocket', 'Connection: Upgrade'] }, [[400], []]),
    bare('upgrades: HTTP/2', { lines: ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'] }, [[400], []]),
    bare(
      'upgrades: with a wrong password',
      { authorization: 'Basic eDp5', lines: ['Upgrade: websocket', 'Connection: Upgrade'] },
      [[401], []],
    ),
    bare('expectations: of nonsense, which is ignored', { lines: ['Expect: 200-ok'] }, [[400]]),
    bare(
      'expectations: to go on, with a wrong password',
      { authorization: 'Basic eDp5', lines: ['Expect: 100-continue'] },
      [[401], [100, 401]],
    ),
    ...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'].map((method) =>
      bare(`methods: ${method}`, { method }, [[405], [400]]),
    ),
    bare('methods: CONNECT', { method: 'CONNECT', target: 'elsewhere.example:443' }, [
      [],
      [400],
      [404],
      [405],
    ]),
    ...['FOO', 'post', 'P\u00d6ST', 'POST\u0000', '\u0016\u0003', ''].map((method) =>
      bare(`methods: ${JSON.stringify(method)}`, { method }, CUT_OR_REFUSED),
    ),
    ...['HTTP/9.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/1', 'HTTPS/1.1', 'http/1.1', '', 'HTTP/1.1\u0000'].map(
      (version) => bare(`versions: ${JSON.stringify(version)}`, { version }, [[400], [], [505]]),
    ),
    {
      attack: 'versions: the preface of HTTP/2',
      parts: ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000'],
      protocols: ['h2', 'http/1.1'],
      answers: CUT_OR_REFUSED,
    },
    {
      attack: 'lines: bare LF everywhere',
      parts: [hidden().replaceAll('\r\n', '\n')],
      answers: CUT_OR_REFUSED,
    },
    {
      attack: 'lines: bare CR everywhere',
      parts: [hidden().replaceAll('\r\n', '\r')],
      answers: [[400], [408], []],
    },
    {
      attack: 'lines: 100,000 empty ones first',
      parts: ['\r\n'.repeat(100_000) + hidden().slice(0, 30)],
      answers: [[408], [400], []],
    },
    {
      attack: 'lines: a request inside a request line',
      parts: [`POST ${PATH} HTTP/1.1 POST ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`],
      answers: REFUSED,
    },
    { attack: 'lines: no request at all', parts: ['\u0000'.repeat(70_000)], answers: CUT_OR_REFUSED },
  ];
}

test('answers each malformed request correctly and keeps nothing of it', async () => {
  const rows = [...framing(), ...senders(), ...requests()];
  const target = { port: webhook.port, isTls: true };
  const missed: string[] = [];
  const held = new Map<string, { tries: number; held: number }>();
  const inTurn = createSemaphore(AT_ONCE);
  await Promise.all(
    rows.map((row) =>
      inTurn(async () => {
        const { attack: name, parts: bytes, answers, betweenMs = 0, protocols = [] } = row;
        const reply = await speak(target, bytes, { betweenMs, protocols });
        const statuses = statusesIn(reply);
        const isHeld =
          answers.some((expected) => expected.join() === statuses.join()) &&
          !/\b(stack|node_modules|at \w+ \()/.test(reply);
        if (!isHeld) missed.push(`${name}: ${statuses.join(', ') || 'cut'} ${reply.slice(0, 200)}`);
        const kind = name.split(':')[0] ?? name;
        const before = held.get(kind) ?? { tries: 0, held: 0 };
        held.set(kind, { tries: before.tries + 1, held: before.held + (isHeld ? 1 : 0) });
      }),
    ),
  );
  expect(missed).toEqual([]);
  const kept = (await parts.inbox.pending()).map(({ eventId }) => eventId);
  expect(kept.sort()).toEqual(rows.flatMap(({ keeps = [] }) => keeps).sort());
  expect((await deliver(webhook.url, one().body)).statusCode).toBe(200);
  for (const [kind, counts] of held) attack(`HTTP by hand: ${kind}`, counts);
});
