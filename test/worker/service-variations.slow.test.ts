import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
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
import type { ForeignQuirk as Answer, ForeignRoute } from '../support/foreign-service.ts';
import { aRig, changed, type Envelope, type Rig } from './rig.ts';

/** The unusual answers to the requests for one invoice, or its unusual event. */
interface Variation extends Partial<Record<ForeignRoute, Answer>> {
  /** Only its created event arrives, so the details are requested soon. */
  readonly isLost?: boolean;
  readonly event?: (envelope: Envelope, csvText: string) => void;
}

let rig: Rig;
let worker: RunningWorker;
beforeAll(async () => {
  // An invoice that is looked up before its event arrives would be fetched by another URL than the event's. Tokens are
  // so short-lived that each form of one is used.
  const pace = { overdueAfter: ['1 min'], repairAfter: ['30 ms'] } as const;
  rig = await aRig({}, pace, { tokenLifetimeSeconds: 1 });
  await rig.startTemporal();
  worker = await rig.startWorker();
  await worker.ready;
});
afterAll(() => rig.close());

const SOON = { overdueAfter: ['300 ms'] } as const;
const HTML = { 'content-type': 'text/html' };
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

const respond =
  (status: number, headers: Record<string, string> = {}, body: string | Buffer = ''): Answer =>
  ({ response }) =>
    void response.writeHead(status, headers).end(body);
const asUsual: Answer = (request) => request.respond();
const page = respond(200, HTML, '<!doctype html><h1>Sign in</h1>');
const moved = respond(302, { location: 'https://elsewhere.invalid/' });
const refused = respond(403, {}, '<Error><Code>ExpiredToken</Code></Error>');
const unavailable = respond(503, HTML, '<html><h1>503 Service Unavailable</h1></html>');

/** One after the other; the last is repeated. */
function inTurn(...answers: readonly Answer[]): Answer {
  let count = 0;
  return (request) => {
    answers[Math.min(count++, answers.length - 1)]?.(request);
  };
}

/** To the same host, with another query or a slash; there the answer is as usual. */
const redirectedTo =
  (status: number, move: (url: string) => string): Answer =>
  ({ request: { url = '' }, response, respond: answer }) => {
    const isThere = url.includes('moved=1') || url.endsWith('/');
    if (isThere) return answer();
    response.writeHead(status, { location: move(url), ...HTML }).end('<h1>Moved</h1>');
  };

const csv =
  (headers: Record<string, string>, change: (bytes: Buffer) => Buffer = (bytes) => bytes): Answer =>
  ({ invoice, response }) =>
    void response.writeHead(200, headers).end(change(Buffer.from(invoice?.csv ?? '')));

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: string | Buffer;
}

const altered =
  (change: (body: string) => Partial<Reply>): Answer =>
  ({ response, respond: answer }) => {
    const { writeHead, end } = response;
    let [status, headers] = [200, {}];
    const head = (code: number, fields: object) => {
      [status, headers] = [code, fields];
      return response;
    };
    const send = (usual: unknown) => {
      Object.assign(response, { writeHead, end });
      const reply = { status, body: String(usual), ...change(String(usual)) };
      const { 'content-length': _, ...fields } = { ...headers, ...reply.headers } as Reply['headers'];
      return response.writeHead(reply.status, fields).end(reply.body);
    };
    Object.assign(response, { writeHead: head, end: send });
    answer();
  };

const lost = (details: Answer): Variation => ({ isLost: true, details });
/** The URL of the event is refused once, so that another is requested. */
const regenerated = (regenerate: Answer): Variation => ({ storage: inTurn(refused, asUsual), regenerate });
/** Every URL is refused, so that the file is exported. */
const exported = (answer: Answer): Variation => ({
  storage: refused,
  regenerate: respond(404),
  export: answer,
});

const VARIATIONS: Readonly<Record<string, Variation>> = {
  // Redirects
  'storage redirects to the same host': { storage: redirectedTo(307, (url) => `${url}&moved=1`) },
  'storage redirects to another host': { storage: moved },
  'storage redirects in a circle': {
    storage: ({ request: { url = '' }, response }) => void response.writeHead(302, { location: url }).end(),
  },
  'regenerate redirects to a path with a slash': regenerated(redirectedTo(308, (url) => `${url}/`)),
  'regenerate redirects a POST with 301': regenerated(redirectedTo(301, (url) => `${url}/`)),
  'regenerate redirects to another host': { storage: refused, regenerate: moved },
  'export redirects to a path with a slash': exported(redirectedTo(301, (url) => `${url}/`)),
  'export redirects to an absolute URL': exported((request) =>
    redirectedTo(302, (url) => `https://${request.request.headers.host}${url}?moved=1`)(request),
  ),
  'details redirect to a path with a slash': lost(redirectedTo(301, (url) => `${url}/`)),

  // Details
  'details are unavailable twice': lost(inTurn(unavailable, unavailable, asUsual)),
  'details are not implemented': lost(respond(501, HTML, '<h1>501</h1>')),

  // Regenerate
  'regenerate is unavailable once': regenerated(inTurn(unavailable, asUsual)),
  'regenerate is unavailable until a date': regenerated(inTurn(retryLater(503), asUsual)),
  'regenerate is overloaded until a date': regenerated(inTurn(retryLater(429), asUsual)),
  'regenerate is overloaded for an unknown time': regenerated(inTurn(respond(429), asUsual)),
  'regenerate answers 201 as HTML': regenerated(altered(() => ({ status: 201, headers: HTML }))),
  'regenerate answers a page': { storage: refused, regenerate: page },
  'regenerate answers 204': { storage: refused, regenerate: respond(204) },
  'regenerate sends two headers of one name': regenerated(
    altered(() => ({
      headers: {
        'content-type': ['application/json', 'application/json; charset=utf-8'],
        etag: ['"a"', '"b"'],
      },
    })),
  ),
  'regenerate answers in pieces and closes the connection': regenerated(({ invoice, response }) => {
    const text = JSON.stringify(rig.service.exportOf(invoice?.invoiceId ?? ''));
    response.writeHead(200, { 'Content-Type': 'APPLICATION/JSON ; Charset=UTF-8', connection: 'close' });
    response.write(`\r\n\t ${text.slice(0, 40)}`);
    setTimeout(() => response.end(`${text.slice(40)}\n\n`), 30);
  }),

  // Storage
  'storage sends a page': { storage: page },
  'storage answers 203 through a proxy': {
    storage: altered(() => ({ status: 203, headers: { warning: '214 - "Transformation Applied"' } })),
  },
  'storage sends an octet stream': {
    storage: altered(() => ({ headers: { 'content-type': 'application/octet-stream' } })),
  },
  'storage sends no type and no length': {
    storage: ({ invoice, response }) => {
      response.writeHead(200, { connection: 'close' });
      response.write(invoice?.csv.slice(0, 50));
      response.end(invoice?.csv.slice(50));
    },
  },
  'storage sends slowly and in pieces': {
    storage: ({ invoice, response }) => {
      const bytes = Buffer.from(invoice?.csv ?? '');
      response.writeHead(200, { 'content-type': 'text/csv' });
      for (let at = 0; at < bytes.length; at += 50)
        setTimeout(() => response.write(bytes.subarray(at, at + 50)), at / 10);
      setTimeout(() => response.end(), bytes.length / 10 + 50);
    },
  },
  'storage closes the connection in the middle of the file': {
    storage: inTurn(({ invoice, response }) => {
      response.writeHead(200, { 'content-type': 'text/csv' });
      response.write(invoice?.csv.slice(0, 100) ?? '', () => response.destroy());
    }, asUsual),
  },

  // Export
  'export answers 201': exported(altered(() => ({ status: 201 }))),
  'export answers 202 once': exported(inTurn(respond(202, {}, '{"status":"processing"}'), asUsual)),
  'export answers 204 once': exported(inTurn(respond(204), asUsual)),
  'export is unavailable twice': exported(inTurn(unavailable, unavailable, asUsual)),
  'export answers a page twice': exported(inTurn(page, page, asUsual)),
  'export answers a notice as CSV once': exported(
    inTurn(respond(200, { 'content-type': 'text/csv' }, '{"status":"processing"}'), asUsual),
  ),
  'export sends two headers of one name': exported(
    altered(() => ({
      headers: {
        'content-type': ['text/csv', 'text/csv; charset=utf-8'],
        etag: ['"a"', '"b"'],
        'last-modified': ['x', 'y'],
        'content-encoding': ['identity', 'identity'],
      },
    })),
  ),
  'export sends informational answers first': exported(({ response, respond: answer }) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
    answer();
  }),
  'export begins with a byte order mark': exported(altered((body) => ({ body: `\ufeff${body}` }))),
  'export ends with trailers': exported(({ invoice, response }) => {
    response.writeHead(200, { 'content-type': 'text/csv', trailer: 'x-rows' });
    response.write(invoice?.csv ?? '');
    response.addTrailers({ 'x-rows': '5' });
    response.end();
  }),
  'export sends pieces without a length': exported(({ invoice, response }) => {
    response.writeHead(200, { 'CONTENT-TYPE': 'Text/CSV;header=present' });
    for (let at = 0; at < (invoice?.csv.length ?? 0); at += 99)
      response.write(invoice?.csv.slice(at, at + 99));
    response.end();
  }),
  'export sends HTML as its type': exported(csv(HTML)),
  'export sends a broken file first and does not implement conditions': exported(
    inTurn(brokenCsv('"one"'), (request) => {
      if (request.request.headers['if-none-match'] === undefined)
        return altered(() => ({ headers: { etag: '"two"' } }))(request);
      respond(501, {}, 'Not Implemented')(request);
    }),
  ),

  // Events
  'the event announces the hash of the gzip': {
    storage: csv({ 'content-encoding': 'gzip' }, gzipSync),
    event: ({ payload }, text) => void Object.assign(payload, announcementOf(gzipSync(text))),
  },
  'the event has only ids and a type, and the file has to be exported': {
    ...exported(asUsual),
    event: keepIds,
  },
};

function retryLater(status: number): Answer {
  return (request) => respond(status, { 'retry-after': new Date(Date.now() + 900).toUTCString() })(request);
}

function brokenCsv(etag: string): Answer {
  return altered((body) => ({ headers: { etag }, body: body.replace(/USD,[\d.-]+/, 'USD,many') }));
}

function keepIds({ metadata, payload }: Envelope): void {
  for (const name of Object.keys(metadata)) {
    if (!['eventId', 'eventType', 'partnerId'].includes(name)) delete metadata[name];
  }
  for (const name of Object.keys(payload))
    if (!/^(?!partner|parent).*InvoiceId$/.test(name)) delete payload[name];
}

function announcementOf(bytes: Buffer) {
  const fileHashSha256 = createHash('sha256').update(bytes).digest('hex');
  return { fileHashSha256, fileSizeBytes: bytes.length };
}

const TOKEN_FORMS: readonly Answer[] = [
  asUsual,
  ...[
    (text: string) => text.replace('"bearer"', '"BEARER"').replace(/"expires_in":(\d+)/, '"expires_in":"$1"'),
    (text: string) => text.replace(/"expires_in":\d+,/, '').replace(/"scope":"[^"]*",/, ''),
    (text: string) => `\ufeff${text.replace('"token_type":"bearer",', '').replace(/:(\d+),/, ':$1.9,')}`,
    (text: string) =>
      text.replace(/"scope":"[^"]*"/, '"scope":[]').replace(/"userId":"[^"]*"/, '"userId":[]'),
  ].map((change) =>
    altered((body) => ({ status: 201, headers: { 'content-type': 'text/plain' }, body: change(body) })),
  ),
];

test('loads every invoice as the service has it', async () => {
  const { service } = rig;
  const nameOf = new Map<string, string>();
  let tokens = 0;
  service.play('token', (request) => TOKEN_FORMS[tokens++ % TOKEN_FORMS.length]?.(request));
  for (const route of ['regenerate', 'details', 'export', 'storage'] as const) {
    service.play(route, (request) => {
      const name = nameOf.get(request.invoice?.invoiceId ?? '') ?? '';
      const answer = VARIATIONS[name]?.[route] ?? asUsual;
      answer(request);
    });
  }
  const billed = new Map<string, Decimal>();
  const announce = async (name: string, { isLost = false, event }: Variation): Promise<void> => {
    const { invoiceId } = await service.createInvoice({ rows: 5 });
    nameOf.set(invoiceId, name);
    const { rows } = await service.finalize(invoiceId);
    billed.set(invoiceId, Decimal.sum(...rows.map(({ billingCost }) => billingCost)));
    const bodies = service.events.slice(-2).slice(0, isLost ? 1 : 2);
    for (const body of bodies) {
      const text = changed(body, (envelope) => event?.(envelope, csvOf(rows)));
      await rig.give(text, isLost ? SOON : {});
    }
  };
  for (const [name, variation] of Object.entries(VARIATIONS)) await announce(name, variation);
  // Each form of a token is used, also when all of this takes less time than the tokens are valid.
  for (let count = 1; tokens < TOKEN_FORMS.length && count < 20; count++) {
    await sleep(1_000);
    await announce(`token ${count}`, lost(asUsual));
  }
  const unsettled = async (): Promise<readonly string[]> => {
    const invoices = new Map(
      (await worker.warehouse.invoices({})).map((invoice) => [invoice.invoiceId, invoice]),
    );
    return [...nameOf].flatMap(([invoiceId, name]) => {
      const found = invoices.get(invoiceId);
      const isRight =
        found?.state === 'loaded' && billed.get(invoiceId)?.eq(found.billingCost ?? -1) === true;
      return isRight ? [] : [`${name}: ${found?.state} ${found?.reason ?? ''}`];
    });
  };
  let last: readonly string[] = ['not read yet'];
  await eventually(async () => {
    last = await unsettled();
    return last.length === 0;
  }).catch(() => undefined);
  expect(last).toEqual([]);
  const differing = () => {
    const lines = rig.logged().split('\n');
    const alerts = lines.filter((line) => line.includes('the file differs from the announced one'));
    return new Set(alerts.map((line) => nameOf.get(line.match(UUID)?.[0] ?? '')));
  };
  // The alert follows the publication of the load.
  await eventually(() => differing().size > 0);
  expect(differing()).toEqual(new Set(['export begins with a byte order mark']));
  expect(tokens).toBeGreaterThanOrEqual(TOKEN_FORMS.length);
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

  // Once it is loaded, another refused delivery is settled by the answer of the service.
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
  const loadLost = async () => {
    const { invoiceId } = await service.createInvoice({ rows: 2 });
    await rig.give(service.events.at(-1) ?? '', SOON);
    await service.finalize(invoiceId);
    await eventually(async () => (await worker.warehouse.invoice(invoiceId))?.state === 'loaded');
  };
  service.play('details', respond(403, { 'content-type': 'application/json' }, '{"error":"no_scope"}'));
  await loadLost();
  await eventually(() => rig.logged().includes('alert raised: The details of invoices cannot be read'));
  expect(rig.logged()).not.toContain('alert resolved: The details of invoices cannot be read');
  service.play('details', null);
  await loadLost();
  await eventually(() => rig.logged().includes('alert resolved: The details of invoices cannot be read'));
});
