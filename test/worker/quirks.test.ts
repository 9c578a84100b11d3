/** A service with every quirk that ever cost us an invoice: each ends as the service has it, without a hand. */

import { createHash } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Decimal } from 'decimal.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.js';
import type { ForeignAsk, ForeignQuirk, ForeignRoute } from '../support/foreign-service.js';
import { aRig, type Rig } from './rig.js';

type Answer = ForeignQuirk;
type Quirk = Partial<Record<ForeignRoute, Answer>>;

let rig: Rig;
beforeAll(async () => {
  rig = await aRig();
});
afterAll(() => rig.close());

const answer =
  (status: number, headers: Record<string, string>, body: string | Buffer = ''): Answer =>
  ({ response }) =>
    void response.writeHead(status, headers).end(body);
const page = answer(200, { 'content-type': 'text/html' }, '<!doctype html><h1>Sign in</h1>');
const moved = answer(302, { location: 'https://elsewhere.invalid/' });
const refused = answer(403, {}, '<Error><Code>ExpiredToken</Code></Error>');
/** One after the other; the last stays. */
function inTurn(...answers: readonly Answer[]): Answer {
  let nth = 0;
  return (ask) => {
    answers[Math.min(nth++, answers.length - 1)]?.(ask);
  };
}
const asUsual: Answer = ({ asUsual: answerIt }) => answerIt();
const csv =
  (headers: Record<string, string>, change: (bytes: Buffer) => Buffer = (bytes) => bytes): Answer =>
  ({ invoice, response }) =>
    void response.writeHead(200, headers).end(change(Buffer.from(invoice?.csv ?? '')));
/** What regenerate says, changed. */
const location =
  (change: (fields: ReturnType<Rig['service']['exportOf']>) => object | string): Answer =>
  ({ invoice, response }) => {
    const body = change(rig.service.exportOf(invoice?.invoiceId ?? ''));
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  };
const dripping: Answer = ({ invoice, response }) => {
  const bytes = Buffer.from(invoice?.csv ?? '');
  response.writeHead(200, { 'content-type': 'text/csv' });
  for (let at = 0; at < bytes.length; at += 50)
    setTimeout(() => response.write(bytes.subarray(at, at + 50)), at / 10);
  setTimeout(() => response.end(), bytes.length / 10 + 50);
};
/** The URL of the event is refused once, so that the service is asked for another. */
const once = (regenerate: Answer): Quirk => ({ storage: inTurn(refused, asUsual), regenerate });
/** No URL is good, so there is only export-csv. */
const byExport = (exported: Answer): Quirk => ({
  storage: refused,
  regenerate: answer(404, {}),
  export: exported,
});

const QUIRKS: Readonly<Record<string, () => Quirk>> = {
  'regenerate answers a page': () => ({ storage: refused, regenerate: page }),
  'regenerate redirects': () => ({ storage: refused, regenerate: moved }),
  'regenerate answers nothing': () => ({ storage: refused, regenerate: answer(204, {}) }),
  'regenerate answers in snake case': () =>
    once(location(({ presignedUrl }) => ({ presigned_url: presignedUrl }))),
  'regenerate wraps its answer': () => once(location((fields) => ({ data: fields }))),
  'regenerate writes numbers as text': () =>
    once(location((fields) => ({ ...fields, fileSizeBytes: String(fields.fileSizeBytes) }))),
  'regenerate begins with a byte order mark': () =>
    once(location((fields) => `\ufeff${JSON.stringify(fields)}`)),
  'regenerate ends in garbage': () => once(location((fields) => `${JSON.stringify(fields)}<!-- cached -->`)),
  'regenerate gives a relative URL': () =>
    once(location((fields) => ({ ...fields, presignedUrl: '/bucket/a.csv' }))),
  'regenerate says that its URL is long dead': () =>
    once(location((fields) => ({ ...fields, presignedUrlExpiresAt: '2001-01-01T00:00:00Z' }))),
  'regenerate writes the hash in base64': () =>
    once(
      location((fields) => ({
        ...fields,
        fileHashSha256: Buffer.from(fields.fileHashSha256, 'hex').toString('base64'),
      })),
    ),
  'regenerate names the algorithm': () =>
    once(
      location((fields) => ({ ...fields, fileHashSha256: `sha256:${fields.fileHashSha256.toLowerCase()}` })),
    ),
  'regenerate announces ten terabytes': () =>
    once(location((fields) => ({ ...fields, fileSizeBytes: 1e13 }))),
  'regenerate announces nothing': () => once(location((fields) => ({ ...fields, fileSizeBytes: 0 }))),
  'regenerate is overloaded and does not say for how long': () => once(inTurn(answer(429, {}), asUsual)),
  'regenerate is away until a date': () =>
    once(
      inTurn((ask) => answer(503, { 'retry-after': new Date(Date.now() + 900).toUTCString() })(ask), asUsual),
    ),
  'storage redirects': () => ({ storage: moved }),
  'storage sends a page': () => ({ storage: page }),
  'storage sends gzip': () => ({ storage: csv({ 'content-encoding': 'gzip' }, gzipSync) }),
  'storage sends brotli': () => ({ storage: csv({ 'content-encoding': 'br' }, brotliCompressSync) }),
  'storage says gzip and sends none': () => ({ storage: csv({ 'content-encoding': 'gzip' }) }),
  'storage sends slowly and in pieces': () => ({ storage: dripping }),
  'storage announced the hash of its gzip': () => {
    const packed = ({ invoice }: Pick<ForeignAsk, 'invoice'>) => gzipSync(invoice?.csv ?? '');
    return {
      regenerate: (ask) =>
        location((fields) => {
          const bytes = packed(ask);
          return { ...fields, fileHashSha256: hashOf(bytes), fileSizeBytes: bytes.length };
        })(ask),
      storage: inTurn(refused, (ask) => answer(200, { 'content-encoding': 'gzip' }, packed(ask))(ask)),
    };
  },
  'export is at work': () => byExport(inTurn(answer(202, {}, '{"status":"processing"}'), asUsual)),
  'export has nothing yet': () => byExport(inTurn(answer(204, {}), asUsual)),
  'export answers a page at first': () => byExport(inTurn(page, page, asUsual)),
  'export answers a notice at first': () =>
    byExport(inTurn(answer(200, { 'content-type': 'text/csv' }, '{"status":"processing"}'), asUsual)),
  'export is gzip that no header tells of': () => byExport(csv({ 'content-type': 'text/csv' }, gzipSync)),
  'export is called a page': () => byExport(csv({ 'content-type': 'text/html' })),
  'export is named as an attachment': () =>
    byExport(csv({ 'content-disposition': "attachment; filename*=UTF-8''rechnung%20m%C3%A4rz.csv" })),
  'export breaks off in the middle of gzip': () =>
    byExport(
      inTurn(
        csv({ 'content-encoding': 'gzip' }, (bytes) => gzipSync(bytes).subarray(0, 60)),
        asUsual,
      ),
    ),
};

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

test('every invoice ends as the service has it', async () => {
  const { service } = rig;
  const quirkOf = new Map<string, { readonly name: string; readonly quirk: Quirk }>();
  for (const route of ['regenerate', 'export', 'storage'] as const) {
    service.play(route, (ask) => {
      const played = quirkOf.get(ask.invoice?.invoiceId ?? '')?.quirk[route];
      if (played === undefined) ask.asUsual();
      else played(ask);
    });
  }
  await rig.startTemporal();
  const worker = await rig.startWorker();
  await worker.ready;
  for (const [name, quirk] of Object.entries(QUIRKS)) {
    const { invoiceId } = await service.createInvoice({ rows: 5 });
    quirkOf.set(invoiceId, { name, quirk: quirk() });
    await service.finalize(invoiceId);
  }
  await rig.forward();
  const billed = new Map<string, Decimal>();
  for (const { invoiceId, billingCost } of service.billedRows()) {
    billed.set(invoiceId, (billed.get(invoiceId) ?? new Decimal(0)).plus(billingCost));
  }
  const unsettled = async (): Promise<readonly string[]> => {
    const states = new Map(
      (await worker.warehouse.invoices({})).map((invoice) => [invoice.invoiceId, invoice]),
    );
    return [...quirkOf].flatMap(([invoiceId, { name }]) => {
      const found = states.get(invoiceId);
      const isRight =
        found?.state === 'loaded' && billed.get(invoiceId)?.eq(found.billingCost ?? -1) === true;
      return isRight ? [] : [`${name}: ${found?.state} ${found?.reason ?? ''}`];
    });
  };
  let last: readonly string[] = ['nothing was looked at'];
  await eventually(
    async () => {
      last = await unsettled();
      return last.length === 0;
    },
    { every: 200 },
  ).catch(() => undefined);
  expect(last).toEqual([]);
});
