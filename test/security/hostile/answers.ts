import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { hostileCsv } from '../../fuzz/csv.ts';
import { hostileDetails } from '../../fuzz/details.ts';
import type { ForeignQuirk } from '../../support/foreign-service.ts';
import { INVOICE } from '../../warehouse/load/two-readers.ts';
import { aDelivery } from '../../webhook/a-delivery.ts';
import { type HostileInput, type HostileWorld, times } from './world.ts';

export const HOSTILE_ANSWERS: readonly HostileInput[] = [
  {
    name: 'details that are no answer',
    play: (world) =>
      times(4, async () => {
        const { invoiceId } = await world.service.createInvoice({ rows: 2 });
        const details = ({ response }: { response: ServerResponse }) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(hostileDetails(world.random, invoiceId));
        world.answer(invoiceId, { details });
        // Both lead to a request: an event without its fields, and a void that the service does not confirm.
        await world.send(aDelivery({ payload: { serviceInvoiceId: invoiceId, presignedUrl: null } }).body);
        if (world.random.chance(0.5)) await world.service.void(invoiceId);
      }),
  },
  {
    name: 'files that are no CSV, under their own hash',
    play: (world) =>
      times(4, async () => {
        const { invoiceId } = await world.service.createInvoice({ rows: 2 });
        const junk = Buffer.from(
          hostileCsv(world.random).toString('latin1').replaceAll(INVOICE, invoiceId),
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
        const bad = world.random.pick(BAD_ANSWERS);
        world.answer(invoiceId, {
          storage: bad,
          regenerate: world.random.pick([...BAD_ANSWERS, bad]),
          export: bad,
        });
        await world.service.finalize(invoiceId);
      }),
  },
  {
    name: 'tokens that are none',
    async play({ service, random }) {
      let left = random.between(1, 3);
      const junk = Array.from({ length: left }, () => random.pick(NO_TOKENS));
      service.play('token', ({ response, respond }) => {
        left -= 1;
        const answer = junk[left];
        if (answer === undefined) return respond();
        response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
      });
    },
  },
];

const NO_TOKENS = [
  '',
  'null',
  '{}',
  '{"access_token":5,"expires_in":"soon"}',
  '{"access_token":"none of yours","expires_in":1e308}',
  '{"access_token":"none of yours","expires_in":-1e308}',
  '{"access_token":"\\ud800","expires_in":3}',
  '{"access_token":"a\\r\\nx-injected: b","expires_in":3}',
  `{"access_token":"${'x'.repeat(100_000)}","expires_in":3}`,
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
  ({ response }) => void response.writeHead(308, { location: 'http://169.254.169.254/' }).end(),
  ({ response, request }) => void response.writeHead(307, { location: request.url ?? '/' }).end(),
  ({ response }) =>
    void response.writeHead(200, { 'content-encoding': 'gzip, br' }).end(brotliCompressSync(BOMB)),
  ({ response }) => void response.writeHead(200, { 'content-encoding': 'identity' }).end(gzipSync(BOMB)),
  ({ response }) =>
    void response.writeHead(200, { 'content-encoding': Array(300).fill('gzip').join(', ') }).end(BOMB),
];
const BOMB = gzipSync(Buffer.alloc(30_000_000, ' '));

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
