/** Spec 2.7, 4.3, 8: presigned URLs, their expiry, and what object storage does with requests. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { envelope, SpecClient } from './support.ts';

let sandbox: Sandbox;
let client: SpecClient;
let clock = Date.parse('2026-05-01T12:00:00Z');
let url: string;
let file: Buffer;

beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date(clock) });
  client = new SpecClient(sandbox);
  url = String((await finalizedPayload()).presignedUrl);
  file = (await client.send(url)).bytes;
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
});

async function finalizedPayload(): Promise<Record<string, unknown>> {
  const { invoiceId } = await sandbox.createInvoice({ shipments: 1_000 });
  await sandbox.finalize(invoiceId);
  return envelope({ body: sandbox.events().at(-1)?.body ?? '' }).payload;
}

test('spec 2.7: hash and size of the event are true to the bytes', async () => {
  const payload = await finalizedPayload();
  const { bytes, headers } = await client.send(String(payload.presignedUrl));
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(payload.fileHashSha256);
  expect(bytes.length).toBe(payload.fileSizeBytes);
  expect(headers['content-length']).toBe(String(payload.fileSizeBytes));
});

test('spec 8: a URL lives 24 hours and answers 403 after that', async () => {
  const payload = await finalizedPayload();
  expect(Date.parse(String(payload.presignedUrlExpiresAt)) - clock).toBe(24 * 3_600_000);
  const start = clock;
  clock += 24 * 3_600_000 - 1;
  expect((await client.send(String(payload.presignedUrl))).status).toBe(200);
  clock += 1;
  const { status, text } = await client.send(String(payload.presignedUrl));
  clock = start;
  expect([status, text]).toEqual([403, expect.stringContaining('Request has expired')]);
});

test('spec 4.3: regenerating leaves an earlier URL alive until its own expiry', async () => {
  const invoiceId = url.split('/').at(-2) ?? '';
  clock += 1_000;
  const fresh = JSON.parse((await client.invoice(invoiceId, 'regenerate')).text) as { presignedUrl: string };
  expect(fresh.presignedUrl).not.toBe(url);
  expect((await client.send(url)).status).toBe(200);
  expect((await client.send(fresh.presignedUrl)).status).toBe(200);
});

test.each([
  ['without a signature', (one: string) => one.replace(/\?.*/, '')],
  ['with another signature', (one: string) => one.replace(/Signature=./, 'Signature=g')],
  ['with a later expiry', (one: string) => one.replace(/Expires=1/, 'Expires=9')],
  ['for another key', (one: string) => one.replace('/1.csv', '/2.csv')],
])('a URL %s is 403', async (_, change) => {
  expect((await client.send(change(url))).status).toBe(403);
});

test('a bearer token beside the signature is refused, so nobody sends one along', async () => {
  const { status } = await client.send(url, { headers: { authorization: 'Bearer abc' } });
  expect(status).toBe(400);
});

test('HEAD answers the headers alone', async () => {
  const { status, headers, bytes } = await client.send(url, { method: 'HEAD' });
  expect([status, headers['content-length'], bytes.length]).toEqual([200, String(file.length), 0]);
});

test.each([
  ['bytes=0-99', 0, 99],
  ['bytes=70000-', 70_000, null],
  ['bytes=-10', -10, null],
  ['bytes=5-999999999', 5, null],
])('the range %s answers those bytes', async (range, from, to) => {
  const { status, bytes, headers } = await client.send(url, { headers: { range } });
  const expected = file.subarray(from, to === null ? undefined : to + 1);
  expect(status).toBe(206);
  expect(bytes.equals(expected)).toBe(true);
  const start = from < 0 ? file.length + from : from;
  expect(headers['content-range']).toBe(`bytes ${start}-${start + expected.length - 1}/${file.length}`);
});

test('a range behind the end is 416, one that is no range answers the whole file', async () => {
  expect((await client.send(url, { headers: { range: `bytes=${file.length}-` } })).status).toBe(416);
  expect((await client.send(url, { headers: { range: 'lines=1-2' } })).status).toBe(200);
});

test('the ETag answers 304 to who has the file, and guards a range', async () => {
  const { etag = '' } = (await client.send(url)).headers;
  expect((await client.send(url, { headers: { 'if-none-match': etag } })).status).toBe(304);
  const stale = await client.send(url, { headers: { range: 'bytes=0-9', 'if-range': '"other"' } });
  expect([stale.status, stale.bytes.length]).toEqual([200, file.length]);
  expect((await client.send(url, { headers: { range: 'bytes=0-9', 'if-range': etag } })).status).toBe(206);
});

test('reads the same bytes every time, from many readers at once', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => client.send(url)));
  expect(answers.every(({ bytes }) => bytes.equals(file))).toBe(true);
});
