import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { hostileDelivery } from '../../fuzz/delivery.ts';
import { aDelivery } from '../../webhook/a-delivery.ts';
import { damaged, hostileText } from './json.ts';
import { type HostileInput, times } from './world.ts';

export const HOSTILE_DELIVERIES: readonly HostileInput[] = [
  {
    name: 'deliveries with wrong values',
    play: ({ random, send }) => times(20, () => send(hostileDelivery(random))),
  },
  {
    name: 'bodies that are no delivery',
    play: ({ random, send }) =>
      inTurn([
        () => send(damaged(random, Buffer.from(aDelivery().body))),
        () => send('['.repeat(random.pick([10, 1_000, 500_000]))),
        () => send('\u0000'.repeat(random.between(1, 10_000))),
        () => send(`"${'x'.repeat(3_000_000)}"`),
        () => send(gzipSync(Buffer.alloc(20_000_000)), { 'content-encoding': 'gzip' }),
      ]),
  },
  {
    name: 'texts that no store takes, in a sound event',
    play: ({ random, send }) =>
      times(8, () => {
        const text = random.pick(['\ud800', 'a\udc00b', '\u0000', hostileText(random), 'x'.repeat(50_000)]);
        const field = random.pick(['partnerInvoiceId', 'partnerTenantId', 'invoiceNumber', 'currencyCode']);
        const eventType = random.pick(['invoice_created', 'invoice_finalized', 'invoice_voided']);
        return send(aDelivery({ metadata: { eventType }, payload: { [field]: text } }).body);
      }),
  },
  {
    name: 'announcements that cannot be true',
    async play({ random, send, service }) {
      await times(5, async () => {
        const { invoiceId } = await service.createInvoice({ rows: 2 });
        const lies = random.pick<object>([
          { fileSizeBytes: random.pick([1e13, -1, 0, 1.5, Number.MAX_SAFE_INTEGER]) },
          { fileHashSha256: random.pick(['', 'a'.repeat(64), 'z'.repeat(64), '0'.repeat(100_000)]) },
          { presignedUrl: random.pick(NO_URLS) },
          { invoiceTotalAmount: 1e300, totalTransactionCount: 2 ** 53 },
        ]);
        await service.finalize(invoiceId);
        await send(changed(service.events.at(-1) ?? '', {}, lies));
      });
    },
  },
  {
    name: 'unknown types, foreign partners, ids used twice',
    async play({ random, send, service, honest }) {
      await send(
        aDelivery({ metadata: { eventType: random.pick(['invoice_paid', '', hostileText(random)]) } }).body,
      );
      await send(aDelivery({ metadata: { partnerId: random.uuid() } }).body);
      const known = service.events.find((text) => text.includes(honest[0]?.invoiceId ?? '')) ?? '';
      // The id of a received event, with another meaning.
      await send(changed(known, { eventType: 'invoice_voided' }, { invoiceStatus: 'voided' }));
    },
  },
  {
    name: 'clocks that are mad',
    play: ({ random, send, service }) =>
      times(4, async () => {
        const eventTimestamp = random.pick(MAD_INSTANTS);
        await send(aDelivery({ metadata: { eventTimestamp } }).body);
        const { invoiceId } = await service.createInvoice({ rows: 2 });
        await service.finalize(invoiceId);
        const dates = {
          presignedUrlExpiresAt: random.pick(MAD_INSTANTS),
          invoiceDate: random.pick(MAD_INSTANTS),
        };
        await send(changed(service.events.at(-1) ?? '', { eventTimestamp, eventId: randomUUID() }, dates));
      }),
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

function changed(eventText: string, metadata: object, payload: object): string {
  const event = JSON.parse(eventText) as { metadata: object; payload: object };
  return JSON.stringify({
    metadata: { ...event.metadata, ...metadata },
    payload: { ...event.payload, ...payload },
  });
}

async function inTurn(plays: readonly (() => Promise<void>)[]): Promise<void> {
  for (const play of plays) await play();
}
