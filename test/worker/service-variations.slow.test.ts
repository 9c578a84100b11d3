/** A service with every quirk that ever cost us an invoice: each ends as the service has it, without a hand. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Decimal } from 'decimal.js';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openArchive } from '../../archive/open-archive.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import { requestReconcile } from '../../workflows/client/writer-client.ts';
import { eventually } from '../support/eventually.ts';
import { csvOf } from '../support/foreign-billing.ts';
import type { ForeignCall, ForeignQuirk, ForeignRoute } from '../support/foreign-service.ts';
import { aRig, changed, type Envelope, type Rig } from './rig.ts';

type Answer = ForeignQuirk;
type Quirk = Partial<Record<ForeignRoute, Answer>> & {
  /** Only the first event, of its creation, ever comes. */
  readonly isLost?: true;
};

let rig: Rig;
let worker: RunningWorker;
beforeAll(async () => {
  // Asked about before its event is heard, an invoice would be brought by a URL that announces otherwise.
  // Tokens live so shortly that each way of wording one comes up.
  const pace = { overdueAfter: ['1 min'], repairAfter: ['30 ms'] } as const;
  rig = await aRig({}, pace, { tokenLifetimeSeconds: 1 });
  await rig.startTemporal();
  worker = await rig.startWorker();
  await worker.ready;
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
const respond: Answer = ({ respond: answerIt }) => answerIt();
const csv =
  (headers: Record<string, string>, change: (bytes: Buffer) => Buffer = (bytes) => bytes): Answer =>
  ({ invoice, response }) =>
    void response.writeHead(200, headers).end(change(Buffer.from(invoice?.csv ?? '')));
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
interface Words {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: string | Buffer;
}
/** The usual answer, in other words. */
const reworded =
  (change: (words: Words & { readonly body: string }) => Partial<Words>): Answer =>
  ({ response, respond: answerIt }) => {
    const { writeHead, end } = response;
    let [status, headers] = [200, {}];
    const head = (code: number, fields: object) => {
      [status, headers] = [code, fields];
      return response;
    };
    const send = (body: unknown) => {
      Object.assign(response, { writeHead, end });
      const said = { status, headers, body: String(body) };
      const { 'content-length': _, ...fields } = {
        ...said.headers,
        ...change(said).headers,
      } as Words['headers'];
      const words = { ...said, ...change(said) };
      return response.writeHead(words.status, fields).end(words.body);
    };
    Object.assign(response, { writeHead: head, end: send });
    answerIt();
  };
/** To the same place with another query or a slash; there the answer is as usual. */
const movedTo =
  (status: number, move: (url: string) => string): Answer =>
  ({ request: { url = '' }, response, respond: answerIt }) => {
    const isThere = url.includes('moved=1') || url.endsWith('/');
    if (isThere) return answerIt();
    response.writeHead(status, { location: move(url), 'content-type': 'text/html' }).end('<h1>Moved</h1>');
  };
/** Nobody hears that it is finalized, so the details are asked for, and soon. */
const SOON = { overdueAfter: ['300 ms'] } as const;
const lost = (details: Answer): Quirk => ({ isLost: true, details });
const unavailable = answer(
  503,
  { 'content-type': 'text/html' },
  '<html><h1>503 Service Unavailable</h1></html>',
);
/** The URL of the event is refused once, so that the service is asked for another. */
const once = (regenerate: Answer): Quirk => ({ storage: inTurn(refused, respond), regenerate });
/** No URL is good, so there is only export-csv. */
const byExport = (exported: Answer): Quirk => ({
  storage: refused,
  regenerate: answer(404, {}),
  export: exported,
});

const QUIRKS: Readonly<Record<string, () => Quirk>> = {
  'storage redirects to the same host': () => ({ storage: movedTo(307, (url) => `${url}&moved=1`) }),
  'storage redirects in a circle': () => ({
    storage: ({ request: { url = '' }, response }) => void response.writeHead(302, { location: url }).end(),
  }),
  'regenerate wants a slash at the end': () => once(movedTo(308, (url) => `${url}/`)),
  'regenerate redirects in a way that would make a GET of it': () => once(movedTo(301, (url) => `${url}/`)),
  'export wants a slash at the end': () => byExport(movedTo(301, (url) => `${url}/`)),
  'export has moved, and says so with a whole URL': () =>
    byExport((ask) => movedTo(302, (url) => `https://${ask.request.headers.host}${url}?moved=1`)(ask)),
  'details want a slash at the end': () => lost(movedTo(301, (url) => `${url}/`)),
  'details write ids in capitals': () => lost(reworded(({ body }) => ({ body: capitals(body) }))),
  'details are the first of nine pages': () =>
    lost(
      reworded(({ body }) => ({
        body: `{"page":1,"totalPages":9,"next":"/page/2","errors":[],"items":[${body}]}`,
      })),
    ),
  'details are text with a byte order mark and numbers in quotes': () =>
    lost(
      reworded(({ body }) => ({
        headers: { 'content-type': 'text/plain' },
        body: `\ufeff${body.replace(/:(-?[\d.]+)([,}])/g, ':"$1"$2')}`,
      })),
    ),
  'details are gzip that nobody asked for': () =>
    lost(reworded(({ body }) => ({ headers: { 'content-encoding': 'gzip' }, body: gzipSync(body) }))),
  'details name the status in an object, and nothing by an empty list': () =>
    lost(
      reworded(({ body }) => ({
        status: 203,
        body: body
          .replace('"APPROVED"', '{"code":"Approved","label":"Freigegeben"}')
          .replaceAll('null', '[]')
          .replaceAll('+00:00', '+05:30'),
      })),
    ),
  'details are away at first, and say so in HTML': () => lost(inTurn(unavailable, unavailable, respond)),
  'details are not implemented': () => lost(answer(501, { 'content-type': 'text/html' }, '<h1>501</h1>')),
  'regenerate is away at first, and says so in HTML': () => once(inTurn(unavailable, respond)),
  'regenerate says 201 and calls it HTML': () =>
    once(reworded(() => ({ status: 201, headers: { 'content-type': 'text/html' } }))),
  'regenerate says 200 to an error': () =>
    once(
      answer(200, { 'content-type': 'application/json' }, '{"error":"temporarily_unavailable","code":503}'),
    ),
  'regenerate tells the end of its URL in seconds since 1970': () =>
    once(location((fields) => ({ ...fields, presignedUrlExpiresAt: 4_102_444_800 }))),
  'regenerate says one field twice, differently': () =>
    once(location((fields) => JSON.stringify(fields).replace('{', '{"fileSizeBytes":1,'))),
  'regenerate sends its headers twice': () =>
    once(
      reworded(() => ({
        headers: {
          'content-type': ['application/json', 'application/json; charset=utf-8'],
          etag: ['"a"', '"b"'],
        },
      })),
    ),
  'export sends its headers twice': () =>
    byExport(
      reworded(() => ({
        headers: {
          'content-type': ['text/csv', 'text/csv; charset=utf-8'],
          etag: ['"a"', '"b"'],
          'last-modified': ['x', 'y'],
          'content-encoding': ['identity', 'identity'],
        },
      })),
    ),
  'export says 201': () => byExport(reworded(() => ({ status: 201 }))),
  'export says first that it goes on and that there are hints': () =>
    byExport(({ response, respond: answerIt }) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      answerIt();
    }),
  'export begins with a byte order mark': () => byExport(reworded(({ body }) => ({ body: `\ufeff${body}` }))),
  'export ends in trailers': () =>
    byExport(({ invoice, response }) => {
      response.writeHead(200, { 'content-type': 'text/csv', trailer: 'x-rows' });
      response.write(invoice?.csv ?? '');
      response.addTrailers({ 'x-rows': '5' });
      response.end();
    }),
  'export is away at first, and says so in HTML': () => byExport(inTurn(unavailable, unavailable, respond)),
  'export sends a broken file first, and does not implement conditions': () => {
    let nth = 0;
    return byExport((ask) => {
      if (ask.request.headers['if-none-match'] !== undefined) return answer(501, {}, 'Not Implemented')(ask);
      const isFirst = nth++ === 0;
      const headers = { etag: isFirst ? '"one"' : '"two"' };
      reworded(({ body }) => ({ headers, body: isFirst ? body.replace(/USD,[\d.-]+/, 'USD,many') : body }))(
        ask,
      );
    });
  },
  'storage answers through a proxy that has a word of its own': () => ({
    storage: reworded(() => ({ status: 203, headers: { warning: '214 - "Transformation Applied"' } })),
  }),
  'storage is a CSV of no type': () => ({
    storage: reworded(() => ({ headers: { 'content-type': 'application/octet-stream' } })),
  }),
  'the event writes ids in capitals': () => ({}),
  'the event says its total twice, differently': () => ({}),
  'the event says nothing by empty lists': () => ({}),
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
  'regenerate is overloaded and does not say for how long': () => once(inTurn(answer(429, {}), respond)),
  'regenerate is away until a date': () =>
    once(
      inTurn((ask) => answer(503, { 'retry-after': new Date(Date.now() + 900).toUTCString() })(ask), respond),
    ),
  'regenerate writes its numbers and dates in other forms': () =>
    once(
      location(({ presignedUrl, fileHashSha256, fileSizeBytes }) => ({
        result: [
          {
            PresignedURL: presignedUrl,
            Presigned_Url_Expires_At: '2099-01-01T05:30:00+0530',
            file_hash_sha256: `  ${fileHashSha256}  `,
            FileSizeBytes: `${fileSizeBytes}.0`,
          },
        ],
      })),
    ),
  'regenerate does not say until when': () =>
    once(location(({ presignedUrlExpiresAt: _, ...fields }) => ({ ...fields, errors: null }))),
  'regenerate says it twice': () =>
    once(
      location((fields) => JSON.stringify(fields).replace('{', `{"fileSizeBytes":${fields.fileSizeBytes},`)),
    ),
  'regenerate comes in pieces and closes': () =>
    once(({ invoice, response }) => {
      const text = JSON.stringify(rig.service.exportOf(invoice?.invoiceId ?? ''));
      response.writeHead(200, { 'Content-Type': 'APPLICATION/JSON ; Charset=UTF-8', connection: 'close' });
      response.write(`\r\n\t ${text.slice(0, 40)}`);
      setTimeout(() => response.end(`${text.slice(40)}\n\n`), 30);
    }),
  'regenerate is overloaded until a date': () =>
    once(
      inTurn((ask) => answer(429, { 'Retry-After': new Date(Date.now() + 900).toUTCString() })(ask), respond),
    ),
  'storage hangs up in the middle': () => ({
    storage: inTurn(({ invoice, response }) => {
      response.writeHead(200, { 'content-type': 'text/csv' });
      response.write(invoice?.csv.slice(0, 100) ?? '', () => response.destroy());
    }, respond),
  }),
  'storage says neither type nor length': () => ({
    storage: ({ invoice, response }) => {
      response.writeHead(200, { connection: 'close' });
      response.write(invoice?.csv.slice(0, 50));
      response.end(invoice?.csv.slice(50));
    },
  }),
  'export comes in pieces without a length': () =>
    byExport(({ invoice, response }) => {
      response.writeHead(200, { 'CONTENT-TYPE': 'Text/CSV;header=present' });
      for (let at = 0; at < (invoice?.csv.length ?? 0); at += 99)
        response.write(invoice?.csv.slice(at, at + 99));
      response.end();
    }),
  'the event is written by another hand': () => ({}),
  'storage redirects': () => ({ storage: moved }),
  'storage sends a page': () => ({ storage: page }),
  'storage sends gzip': () => ({ storage: csv({ 'content-encoding': 'gzip' }, gzipSync) }),
  'storage sends brotli': () => ({ storage: csv({ 'content-encoding': 'br' }, brotliCompressSync) }),
  'storage says gzip and sends none': () => ({ storage: csv({ 'content-encoding': 'gzip' }) }),
  'storage sends slowly and in pieces': () => ({ storage: dripping }),
  'storage announced the hash of its gzip': () => {
    const packed = ({ invoice }: Pick<ForeignCall, 'invoice'>) => gzipSync(invoice?.csv ?? '');
    return {
      regenerate: (ask) =>
        location((fields) => {
          const bytes = packed(ask);
          return { ...fields, fileHashSha256: hashOf(bytes), fileSizeBytes: bytes.length };
        })(ask),
      storage: inTurn(refused, (ask) => answer(200, { 'content-encoding': 'gzip' }, packed(ask))(ask)),
    };
  },
  'the event announced the hash of its gzip': () => ({
    storage: csv({ 'content-encoding': 'gzip' }, gzipSync),
  }),
  'the event has ids and a type only': () => ({}),
  'the event has ids and a type only, and there is only export-csv': () => byExport(respond),
  'export is at work': () => byExport(inTurn(answer(202, {}, '{"status":"processing"}'), respond)),
  'export has nothing yet': () => byExport(inTurn(answer(204, {}), respond)),
  'export answers a page at first': () => byExport(inTurn(page, page, respond)),
  'export answers a notice at first': () =>
    byExport(inTurn(answer(200, { 'content-type': 'text/csv' }, '{"status":"processing"}'), respond)),
  'export is gzip that no header tells of': () => byExport(csv({ 'content-type': 'text/csv' }, gzipSync)),
  'export is called a page': () => byExport(csv({ 'content-type': 'text/html' })),
  'export is named as an attachment': () =>
    byExport(csv({ 'content-disposition': "attachment; filename*=UTF-8''rechnung%20m%C3%A4rz.csv" })),
  'export breaks off in the middle of gzip': () =>
    byExport(
      inTurn(
        csv({ 'content-encoding': 'gzip' }, (bytes) => gzipSync(bytes).subarray(0, 60)),
        respond,
      ),
    ),
};

const EVENTS: Readonly<Record<string, (envelope: Envelope, csvText: string) => void>> = {
  'the event announced the hash of its gzip': ({ payload }, text) => {
    const bytes = gzipSync(text);
    Object.assign(payload, { fileHashSha256: hashOf(bytes), fileSizeBytes: bytes.length });
  },
  'the event is written by another hand': ({ metadata, payload }) => {
    Object.assign(metadata, { testEvent: 'false', eventTimestamp: '2026-11-01T12:30+0530' });
    metadata.eventType = ' INVOICE_FINALIZED ';
    Object.assign(payload, {
      invoiceStatus: 'Finalized',
      invoiceTotalAmount: String(payload.invoiceTotalAmount),
      totalTransactionCount: String(payload.totalTransactionCount),
      invoiceDate: '20261101',
      currencyCode: ' usd ',
      lineItems: null,
    });
  },
  'the event writes ids in capitals': ({ metadata, payload }) => {
    for (const fields of [metadata, payload]) {
      for (const [name, value] of Object.entries(fields)) {
        if (/Id$/.test(name) && typeof value === 'string') fields[name] = value.toUpperCase();
      }
    }
  },
  'the event says nothing by empty lists': ({ metadata, payload }) => {
    Object.assign(metadata, { payloadSchemaVersion: [], testEvent: [] });
    Object.assign(payload, { partnerInvoiceId: [], invoiceDueDate: [], invoiceNumber: [] });
  },
  'the event has ids and a type only': onlyIds,
  'the event has ids and a type only, and there is only export-csv': onlyIds,
};

function onlyIds({ metadata, payload }: Envelope): void {
  for (const name of Object.keys(metadata)) {
    if (!['eventId', 'eventType', 'partnerId'].includes(name)) delete metadata[name];
  }
  for (const name of Object.keys(payload))
    if (!/^(?!partner|parent).*InvoiceId$/.test(name)) delete payload[name];
}

/** Every id in capitals. */
function capitals(text: string): string {
  return text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => id.toUpperCase());
}

const TEXTS: Readonly<Record<string, (text: string) => string>> = {
  'the event says its total twice, differently': (text) => text.replace(/}}$/, ',"invoiceTotalAmount":1}}'),
};

const TOKEN_WORDS: readonly Answer[] = [
  respond,
  ...[
    (text: string) => text.replace('"bearer"', '"BEARER"').replace(/"expires_in":(\d+)/, '"expires_in":"$1"'),
    (text: string) => text.replace(/"expires_in":\d+,/, '').replace(/"scope":"[^"]*",/, ''),
    (text: string) => `\ufeff${text.replace('"token_type":"bearer",', '').replace(/:(\d+),/, ':$1.9,')}`,
    (text: string) =>
      text.replace(/"scope":"[^"]*"/, '"scope":[]').replace(/"userId":"[^"]*"/, '"userId":[]'),
  ].map((change) =>
    reworded(({ body }) => ({ status: 201, headers: { 'content-type': 'text/plain' }, body: change(body) })),
  ),
];

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

test('loads every invoice as the service has it', async () => {
  const { service } = rig;
  const quirkOf = new Map<string, { readonly name: string; readonly quirk: Quirk }>();
  let tokens = 0;
  service.play('token', (ask) => TOKEN_WORDS[tokens++ % TOKEN_WORDS.length]?.(ask));
  for (const route of ['regenerate', 'details', 'export', 'storage'] as const) {
    service.play(route, (ask) => {
      const played = quirkOf.get(ask.invoice?.invoiceId ?? '')?.quirk[route];
      if (played === undefined) ask.respond();
      else played(ask);
    });
  }
  for (const [name, quirk] of Object.entries(QUIRKS)) {
    const { invoiceId } = await service.createInvoice({ rows: 5 });
    const made = quirk();
    quirkOf.set(invoiceId, { name, quirk: made });
    const { rows } = await service.finalize(invoiceId);
    const events = service.events.slice(-2).slice(0, made.isLost === true ? 1 : 2);
    for (const event of events) {
      const text = changed(event, (envelope) => EVENTS[name]?.(envelope, csvOf(rows)));
      await rig.give(TEXTS[name]?.(text) ?? text, made.isLost === true ? SOON : {});
    }
  }
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
  await eventually(async () => {
    last = await unsettled();
    return last.length === 0;
  }).catch(() => undefined);
  expect(last).toEqual([]);
  const told = rig
    .logged()
    .split('\n')
    .filter((line) => line.includes('the file differs from the announced one'));
  const differing = told.map(
    (line) => quirkOf.get(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(line)?.[0] ?? '')?.name,
  );
  expect(new Set(differing)).toEqual(new Set(['export begins with a byte order mark']));
  expect(tokens).toBeGreaterThanOrEqual(TOKEN_WORDS.length);
});

test('lists an invoice with refused deliveries and loads it by reconciliation', async () => {
  const { service, settings } = rig;
  const { invoiceId } = await service.createInvoice({ rows: 2 });
  await service.finalize(invoiceId);
  const { dataDir } = rig;
  const inbox = await openInbox(join(dataDir, 'inbox'));
  const quarantine = await openQuarantine(join(dataDir, 'inbox', 'quarantine'));
  const archive = await openArchive(settings);
  const receiver = createReceiver({
    ...{ settings, inbox, archive, quarantine, partnerIds: () => [service.partnerId] },
    ...{ log: pino({ level: 'silent' }), metrics: createMetrics('webhook') },
  });
  const envelope = JSON.parse(service.events.at(-1) ?? '') as Envelope;
  envelope.metadata.eventType = 'invoice_approved_by_committee';
  expect(await receiver.receive(Buffer.from(JSON.stringify(envelope)))).toMatchObject({ statusCode: 202 });
  await receiver.settle();
  await archive.close();
  const found = () => worker.warehouse.invoice(invoiceId);
  await eventually(async () => (await found())?.reasonCode === 'delivery-refused');
  expect(await found()).toMatchObject({ state: 'needs_attention' });
  await rig.temporal.run((client) => requestReconcile(client, rig.route));
  await eventually(async () => (await found())?.state === 'loaded');
  expect(await found()).toMatchObject({ shipments: 2, reasonCode: null });

  // Again, of what is loaded already: the service is asked, and nobody is needed any more.
  await worker.warehouse.markNeedsAttention({
    invoiceId,
    code: 'delivery-refused',
    reason: 'A void of version 2.',
  });
  expect(await found()).toMatchObject({ state: 'needs_attention' });
  await rig.temporal.run((client) => requestReconcile(client, rig.route));
  await eventually(async () => (await found())?.state === 'loaded');
});

test('loads files and reports missing voids of a service that refuses details', async () => {
  const { service } = rig;
  for (const route of ['details', 'regenerate', 'export', 'storage'] as const) service.play(route, null);
  const lostAgain = async () => {
    const { invoiceId } = await service.createInvoice({ rows: 2 });
    await rig.give(service.events.at(-1) ?? '', SOON);
    await service.finalize(invoiceId);
    await eventually(async () => (await worker.warehouse.invoice(invoiceId))?.state === 'loaded');
  };
  service.play('details', answer(403, { 'content-type': 'application/json' }, '{"error":"no_scope"}'));
  await lostAgain();
  expect(rig.logged()).toContain('alert raised: The details of invoices cannot be read');
  expect(rig.logged()).not.toContain('alert resolved: The details of invoices cannot be read');
  service.play('details', null);
  await lostAgain();
  expect(rig.logged()).toContain('alert resolved: The details of invoices cannot be read');
});
