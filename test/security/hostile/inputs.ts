/**
 * What a network can bring to a running product to hurt it, by kinds. Only ever against processes on loopback, and
 * bounded: a kind is over within seconds, or goes on beside what follows until the sequence ends it.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { openConnection } from '../../../lib/temporal/connect.ts';
import type { EmbeddedRecord } from '../../../lib/temporal/embedded-record.ts';
import { invoiceWorkflowId, taskQueues } from '../../../lib/wire/names.ts';
import { aDelivery, basic, deliver } from '../../webhook/a-delivery.ts';
import { HOSTILE_ANSWERS } from './answers.ts';
import { HOSTILE_DELIVERIES } from './deliveries.ts';
import { hostileText } from './json.ts';
import { speak } from './raw-http.ts';
import { openHostileSockets } from './sockets.ts';
import type { HostileInput } from './world.ts';

/** None of them leaves a record that `verify` has to list. */
export const NETWORK_INPUTS: readonly HostileInput[] = [
  ...HOSTILE_DELIVERIES,
  ...HOSTILE_ANSWERS,
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
    async play({ product, random }) {
      const methods = ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'];
      for (const method of methods) {
        const headers = { 'x-odd': 'y'.repeat(random.pick([1, 5_000, 30_000])) };
        await deliver(product.webhookUrl, null, { method, headers }).catch(() => undefined);
      }
    },
  },
  {
    name: 'requests byte by byte, at the endpoint and the dashboard',
    async play({ product, random }) {
      const line = (authorization: string) =>
        `POST /webhooks/billing HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`;
      const bytes = [
        `${line(basic())}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        `${line(basic())}Transfer-Encoding: chunked\r\n\r\n${'F'.repeat(17)}\r\nx`,
        `${line('Basic eDp5')}Content-Length: 2\r\n\r\n{}`.repeat(20),
        `${line(basic())}Content-Length: 2\r\n\r\n{}`.repeat(20),
        `GET /${'a'.repeat(random.pick([10, 30_000]))} HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n`,
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        '\u0000'.repeat(random.between(1, 100_000)),
      ];
      const admin = product.address('up', 'dashboard');
      const doors = [{ port: Number(new URL(product.webhookUrl).port), isTls: true }];
      if (admin !== null) doors.push({ port: Number(new URL(admin).port), isTls: false });
      // Whatever is kept open is let go by the server itself.
      for (const door of doors) {
        for (const each of bytes) speak(door, [each]).catch(() => undefined);
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
    async play({ product, service, honest, random }) {
      for (const { invoiceId } of honest) {
        const event = { eventId: random.uuid(), eventType: 'invoice_voided', invoice: { invoiceId } };
        await signalInClearText(product.dataDir, { partnerId: service.partnerId, invoiceId }, [event]);
      }
      const unheard = { partnerId: service.partnerId, invoiceId: random.uuid() };
      await signalInClearText(product.dataDir, unheard, [hostileText(random)]);
    },
  },
];

/** Starts the invoice's workflow when none runs, as `signalWithStart` does. */
export async function signalInClearText(
  dataDir: string,
  invoice: { readonly partnerId: string; readonly invoiceId: string },
  signalArgs: readonly unknown[],
): Promise<void> {
  const record = await readFile(join(dataDir, 'run', 'temporal.json'), 'utf8');
  const connection = await openConnection({ address: (JSON.parse(record) as EmbeddedRecord).address });
  try {
    await new Client({ connection }).workflow.signalWithStart('invoice', {
      workflowId: invoiceWorkflowId({ environment: 'test', ...invoice }),
      taskQueue: taskQueues('test').billing,
      args: [{ environment: 'test', ...invoice }],
      signal: 'invoiceEvent',
      signalArgs: [...signalArgs],
    });
  } finally {
    await connection.close();
  }
}
