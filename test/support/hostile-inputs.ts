/**
 * What a network can bring to a running product to hurt it, by kinds. Only ever against processes on loopback, and
 * bounded: a kind is over within seconds, or goes on beside what follows until the sequence ends it.
 */

import { createHash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { hostileCsv } from '../fuzz/csv.js';
import { hostileDelivery } from '../fuzz/delivery.js';
import { hostileDetails } from '../fuzz/details.js';
import type { Dice } from '../simulation/dice.js';
import { INVOICE } from '../warehouse/two-readers.js';
import { aDelivery, basic, deliver } from '../webhook/a-delivery.js';
import { signalInClearText } from './clear-text.js';
import type { ForeignInvoice, ForeignQuirk, ForeignRoute, ForeignService } from './foreign-service.js';
import { damaged, hostileText } from './hostile-json.js';
import { openHostileSockets } from './hostile-sockets.js';
import type { Product } from './product.js';

export interface HostileWorld {
  readonly product: Product;
  readonly service: ForeignService;
  readonly dice: Dice;
  /** Invoices that must come through whatever happens. */
  readonly honest: readonly ForeignInvoice[];
  /** How the service answers about one invoice from here on. */
  answer(invoiceId: string, routes: Partial<Record<ForeignRoute, ForeignQuirk>>): void;
  /** Sends it with good credentials unless told otherwise; what is answered with 5xx is a fault of the product. */
  send(body: string | Uint8Array, headers?: Record<string, string>): Promise<void>;
  /** Is called when the sequence is over. */
  later(end: () => void): void;
}

export interface HostileInput {
  readonly name: string;
  play(world: HostileWorld): Promise<void>;
}

/** Each kind of network input. None of them leaves a record that `verify` has to list. */
export const NETWORK_INPUTS: readonly HostileInput[] = [
  {
    name: 'deliveries with wrong values',
    play: ({ dice, send }) => times(20, () => send(hostileDelivery(dice))),
  },
  {
    name: 'bodies that are no delivery',
    play: ({ dice, send }) =>
      inTurn([
        () => send(damaged(dice, Buffer.from(aDelivery().body))),
        () => send('['.repeat(dice.pick([10, 1_000, 500_000]))),
        () => send('\u0000'.repeat(dice.between(1, 10_000))),
        () => send(`"${'x'.repeat(3_000_000)}"`),
        () => send(gzipSync(Buffer.alloc(20_000_000)), { 'content-encoding': 'gzip' }),
      ]),
  },
  {
    name: 'texts that no store takes, in a sound event',
    play: ({ dice, send }) =>
      times(8, () => {
        const text = dice.pick(['\ud800', 'a\udc00b', '\u0000', hostileText(dice), 'x'.repeat(50_000)]);
        const field = dice.pick(['partnerInvoiceId', 'partnerTenantId', 'invoiceNumber', 'currencyCode']);
        const eventType = dice.pick(['invoice_created', 'invoice_finalized', 'invoice_voided']);
        return send(aDelivery({ metadata: { eventType }, payload: { [field]: text } }).body);
      }),
  },
  {
    name: 'announcements that cannot be true',
    async play({ dice, send, service }) {
      await times(5, async () => {
        const { invoiceId } = await service.createInvoice({ rows: 2 });
        const lies = dice.pick<object>([
          { fileSizeBytes: dice.pick([1e13, -1, 0, 1.5, Number.MAX_SAFE_INTEGER]) },
          { fileHashSha256: dice.pick(['', 'a'.repeat(64), 'z'.repeat(64), '0'.repeat(100_000)]) },
          { presignedUrl: dice.pick(NO_URLS) },
          { invoiceTotalAmount: 1e300, totalTransactionCount: 2 ** 53 },
        ]);
        await service.finalize(invoiceId);
        await send(changed(service.events.at(-1) ?? '', {}, lies));
      });
    },
  },
  {
    name: 'unknown types, foreign partners, ids used twice',
    async play({ dice, send, service, honest }) {
      await send(
        aDelivery({ metadata: { eventType: dice.pick(['invoice_paid', '', hostileText(dice)]) } }).body,
      );
      await send(aDelivery({ metadata: { partnerId: dice.uuid() } }).body);
      const known = service.events.find((text) => text.includes(honest[0]?.invoiceId ?? '')) ?? '';
      // The id of an event that was heard already, now with another meaning.
      await send(changed(known, { eventType: 'invoice_voided' }, { invoiceStatus: 'voided' }));
    },
  },
  {
    name: 'clocks that are mad',
    play: ({ dice, send, service }) =>
      times(4, async () => {
        const eventTimestamp = dice.pick(MAD_INSTANTS);
        await send(aDelivery({ metadata: { eventTimestamp } }).body);
        const { invoiceId } = await service.createInvoice({ rows: 2 });
        await service.finalize(invoiceId);
        const dates = {
          presignedUrlExpiresAt: dice.pick(MAD_INSTANTS),
          invoiceDate: dice.pick(MAD_INSTANTS),
        };
        await send(changed(service.events.at(-1) ?? '', { eventTimestamp, eventId: randomUUID() }, dates));
      }),
  },
  {
    name: 'details that are no answer',
    play: (world) =>
      times(4, async () => {
        const { invoiceId } = await world.service.createInvoice({ rows: 2 });
        const details = (ask: { response: ServerResponse }) =>
          void ask.response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(hostileDetails(world.dice, invoiceId));
        world.answer(invoiceId, { details });
        // Both make it ask: an event that leaves everything out, and a void that nobody confirms.
        await world.send(aDelivery({ payload: { serviceInvoiceId: invoiceId, presignedUrl: null } }).body);
        if (world.dice.chance(0.5)) await world.service.void(invoiceId);
      }),
  },
  {
    name: 'files that are no CSV, under their own hash',
    play: (world) =>
      times(4, async () => {
        const { invoiceId } = await world.service.createInvoice({ rows: 2 });
        const junk = Buffer.from(
          hostileCsv(world.dice).toString('latin1').replaceAll(INVOICE, invoiceId),
          'latin1',
        );
        announceOnly(world, invoiceId, junk);
        await world.service.finalize(invoiceId);
      }),
  },
  {
    name: 'answers that are torn, huge, late or never end',
    play: (world) =>
      times(3, async () => {
        const { invoiceId } = await world.service.createInvoice({ rows: 2 });
        const bad = world.dice.pick(BAD_ANSWERS);
        world.answer(invoiceId, {
          storage: bad,
          regenerate: world.dice.pick([...BAD_ANSWERS, bad]),
          export: bad,
        });
        await world.service.finalize(invoiceId);
      }),
  },
  {
    name: 'wrong passwords',
    async play({ send }) {
      const tries = Array.from({ length: 12 }, (_, nth) =>
        send(aDelivery().body, { authorization: basic('hook', `guess ${nth}`) }),
      );
      await Promise.allSettled(tries);
    },
  },
  {
    name: 'requests of other kinds',
    async play({ product, dice }) {
      const methods = ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
      for (const method of methods) {
        const headers = { 'x-odd': 'y'.repeat(dice.pick([1, 5_000, 30_000])) };
        await deliver(product.webhookUrl, null, { method, headers }).catch(() => undefined);
      }
    },
  },
  {
    name: 'sockets that hold room',
    async play({ product, later }) {
      const port = Number(new URL(product.webhookUrl).port);
      const attack = openHostileSockets({ port, sockets: 60, sources: ['127.0.0.11', '127.0.0.12'] });
      later(() => attack.close());
    },
  },
  {
    name: 'signals in clear text',
    async play({ product, service, honest, dice }) {
      for (const { invoiceId } of honest) {
        const event = { eventId: dice.uuid(), eventType: 'invoice_voided', invoice: { invoiceId } };
        await signalInClearText(product.dataDir, { partnerId: service.partnerId, invoiceId }, [event]);
      }
      const unheard = { partnerId: service.partnerId, invoiceId: dice.uuid() };
      await signalInClearText(product.dataDir, unheard, [hostileText(dice)]);
    },
  },
];

const NO_URLS = [
  'https://127.0.0.1:1/x',
  'https://[::1]/x',
  'http://localhost/x',
  'file:///etc/passwd',
  'https://',
  'https://\ud800.example/',
  `https://storage.invalid/${'a'.repeat(20_000)}`,
  '\u0000',
];
const MAD_INSTANTS = [
  '0000-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.000Z',
  '9999-12-31T23:59:60Z',
  '1969-12-31T23:59:59Z',
  '2026-02-30T25:61:00Z',
  '-1',
  '99999999999999999999',
  'yesterday',
];
const BAD_ANSWERS: readonly ForeignQuirk[] = [
  ({ response }) => void response.writeHead(200, { 'content-length': '1000' }).write('Tenant,'),
  ({ response }) => {
    response.writeHead(200, { 'content-length': '1000' }).write('Tenant,');
    response.destroy();
  },
  ({ response }) => void response.destroy(),
  // Never answered at all.
  () => undefined,
  ({ response }) => void response.writeHead(503, { 'retry-after': '99999999999' }).end(),
  ({ response }) =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000_000))),
  ({ response }) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>'),
  ({ response }) => void response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end(),
];

/** The URL of the event opens nothing; regenerate announces those bytes truly, and the storage then gives them. */
function announceOnly({ answer, service }: HostileWorld, invoiceId: string, bytes: Buffer): void {
  let isAnnounced = false;
  answer(invoiceId, {
    regenerate({ response }) {
      isAnnounced = true;
      const fileHashSha256 = createHash('sha256').update(bytes).digest('hex');
      const fields = { ...service.exportOf(invoiceId), fileHashSha256, fileSizeBytes: bytes.length };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(fields));
    },
    storage({ response }) {
      if (isAnnounced) response.writeHead(200, { 'content-type': 'text/csv' }).end(bytes);
      else response.writeHead(403).end();
    },
    export: ({ response }) => void response.writeHead(404).end(),
  });
}

/** The text of an event with other values. */
function changed(eventText: string, metadata: object, payload: object): string {
  const event = JSON.parse(eventText) as { metadata: object; payload: object };
  return JSON.stringify({
    metadata: { ...event.metadata, ...metadata },
    payload: { ...event.payload, ...payload },
  });
}

async function times(count: number, play: () => Promise<void>): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) await play();
}

async function inTurn(plays: readonly (() => Promise<void>)[]): Promise<void> {
  for (const play of plays) await play();
}
