/** Answers as endpoints give them, odd ones too: read the same however they are cut up, or refused. */
import { expect, test } from 'vitest';
import { type Answer, AnswerReader } from '../../sandbox/answer-reader.js';

const KEPT_MS = 4_000;

/** What comes of an answer that arrives in these pieces, and then the connection ends when nothing came of it. */
function read(pieces: readonly string[]): Answer | null {
  const reader = new AnswerReader();
  for (const piece of pieces) {
    const answer = reader.push(piece);
    if (answer !== null) return answer;
  }
  return reader.end();
}

/** Whole, byte by byte, and cut in two wherever that can be. */
function* cuts(text: string): Generator<readonly string[]> {
  yield [text];
  yield [...text];
  for (let at = 1; at < text.length; at += 1) yield [text.slice(0, at), text.slice(at)];
}

const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

test.each([
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine', 200, 'fine', KEPT_MS],
  ['a length of nothing', 'HTTP/1.1 500 Oh no\r\ncontent-length:0\r\n\r\n', 500, '', KEPT_MS],
  ['no reason', 'HTTP/1.1 202\r\nContent-Length: 2 \r\n\r\nok', 202, 'ok', KEPT_MS],
  ['no length', 'HTTP/1.1 200 OK\r\nDate: today\r\n\r\nuntil the end', 200, 'until the end', 0],
  ['no header', 'HTTP/1.1 200 OK\r\n\r\n', 200, '', 0],
  ['chunks', `${chunked}4\r\nfine\r\n0\r\n\r\n`, 200, 'fine', KEPT_MS],
  ['many chunks', `${chunked}1\r\nf\r\n00A\r\nine or not\r\n0\r\n\r\n`, 200, 'fine or not', KEPT_MS],
  [
    'odd chunks',
    `${chunked}4 ;a="\\"b"\r\n\r\n\r\n\r\n0;c\r\nEtag: 1\r\nA: b\r\n\r\n`,
    200,
    '\r\n\r\n',
    KEPT_MS,
  ],
  ['a status without body', 'HTTP/1.1 204 No Content\r\n\r\n', 204, '', KEPT_MS],
  ['a length of what is not sent', 'HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n', 304, '', KEPT_MS],
  [
    'interim answers',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\n${chunked}0\r\n\r\n`,
    200,
    '',
    KEPT_MS,
  ],
  ['UTF-8', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\xe2\x82\xac', 200, '€', KEPT_MS],
  ['a last word', 'HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 2\r\n\r\nok', 200, 'ok', 0],
  ['the older protocol', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, 'ok', 0],
  [
    'the older protocol, kept',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
    200,
    'ok',
    KEPT_MS,
  ],
  [
    'a long patience',
    'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=65, max=9\r\nContent-Length: 0\r\n\r\n',
    200,
    '',
    63_000,
  ],
  ['a short patience', 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n', 200, '', 0],
])('an answer with %s is read however it is cut', (_, text, status, body, reusableMs) => {
  for (const pieces of cuts(text)) {
    const { body: bytes, ...rest } = read(pieces) ?? { body: Buffer.from('nothing') };
    expect({ ...rest, body: bytes.toString() }).toEqual({ status, body, reusableMs });
  }
});

test('what comes after an answer makes its connection unusable', () => {
  const answer = read(['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!']);
  expect(answer).toMatchObject({ status: 200, reusableMs: 0 });
  expect(read([`${chunked}0\r\n\r\nHTTP/1.1 200 OK\r\n`])).toMatchObject({ status: 200, reusableMs: 0 });
});

test.each([
  ['no protocol', 'nonsense\r\n\r\n'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.7\r\n\r\n'],
  ['a later protocol', 'HTTP/2 200 OK\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status that cannot be', 'HTTP/1.1 999 OK\r\n\r\n'],
  ['an empty line first', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n'],
  ['a header without colon', 'HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n'],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok'],
  ['a folded header', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok'],
  ['a bare line feed', 'HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok'],
  ['a bare carriage return', 'HTTP/1.1 200 OK\r\nA: b\rContent-Length: 2\r\n\r\nok'],
  ['a NUL', 'HTTP/1.1 200 OK\r\nA: \0\r\n\r\n'],
  ['a length below nothing', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
  ['a length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok'],
  ['another encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'],
  ['a chunk of no size', `${chunked}\r\n`],
  ['a chunk of a size that is no number', `${chunked}four\r\nfine\r\n`],
  ['a chunk of a size that nobody sends', `${chunked}FFFFFFFFF\r\n`],
  ['a chunk longer than it says', `${chunked}4\r\nfine!\r\n0\r\n\r\n`],
  ['headers without end', `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(17_000)}`],
  ['too long headers', `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(17_000)}\r\n\r\n`],
  ['a chunk size without end', `${chunked}4;${'a'.repeat(2_000)}`],
])('an answer with %s is refused', (_, text) => {
  expect(() => read([text])).toThrow(/answer/);
  expect(() => read([...text])).toThrow(/answer/);
});

test.each([
  ['in the status', 'HTTP/1.1 20'],
  ['in the headers', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n'],
  ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfin'],
  ['in a chunk', `${chunked}4\r\nfin`],
  ['between chunks', `${chunked}4\r\nfine\r\n`],
  ['before the last line', `${chunked}4\r\nfine\r\n0\r\n`],
])('a connection that ends %s has not answered', (_, text) => {
  expect(read([text])).toBeNull();
  expect(read([...text])).toBeNull();
});

test.each([
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n', ''],
  ['no length', 'HTTP/1.1 200 OK\r\n\r\n', ''],
  ['chunks', chunked, '800\r\n'],
  ['one chunk', `${chunked}20000000\r\n`, ''],
])('of an endless answer with %s only the first part is read', (_, head, chunkLine) => {
  const reader = new AnswerReader();
  let answer = reader.push(head);
  let pieces = 0;
  for (; answer === null; pieces += 1) {
    answer = reader.push(`${chunkLine}${'x'.repeat(2_048)}${chunkLine === '' ? '' : '\r\n'}`);
  }
  expect(pieces).toBe(129);
  expect(answer).toMatchObject({ status: 200, reusableMs: 0 });
});
