import { describe, expect, test } from 'vitest';
import { FsyncError } from '../../lib/files/durable-files.ts';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { forwardOverdue } from '../../webhook/forwarder.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { aDelivery, openParts, type Parts } from './a-delivery.ts';

const MINUTE_MS = 60_000;

async function received(parts: Parts, minutesAgo: number): Promise<string> {
  const { eventId, body } = aDelivery({ payload: { serviceInvoiceId: crypto.randomUUID() } });
  const now = () => new Date(Date.now() - minutesAgo * MINUTE_MS);
  await createReceiver({ ...parts, now }).receive(Buffer.from(body));
  return eventId;
}

describe('forwardOverdue', () => {
  test('forwards old entries and leaves young ones to the endpoint', async () => {
    const parts = await openParts();
    const [old, young] = [await received(parts, 30), await received(parts, 1)];
    const sent: InvoiceEvent[] = [];
    const send = async (event: InvoiceEvent): Promise<void> => void sent.push(event);
    expect(await forwardOverdue({ ...parts, send })).toMatchObject({ forwarded: 1, waiting: 1 });
    expect(sent.map(({ eventId }) => eventId)).toEqual([old]);
    expect(await parts.inbox.has({ kind: 'event', eventId: old })).toBe('done');
    expect(await parts.inbox.has({ kind: 'event', eventId: young })).toBe('pending');
    expect((await parts.archive.event(old))?.verdict).toBe('accepted');
  });

  test('keeps failed entries, and stops after five failures in a row', async () => {
    const parts = await openParts();
    for (let i = 0; i < 8; i += 1) await received(parts, 30);
    let tries = 0;
    const send = async (): Promise<void> => {
      tries += 1;
      throw new Error('Temporal is away.');
    };
    expect(await forwardOverdue({ ...parts, send })).toMatchObject({ forwarded: 0, waiting: 8 });
    expect(tries).toBe(5);
  });

  test('stops after a failed flush', async () => {
    const parts = await openParts();
    await received(parts, 30);
    const send = async (): Promise<void> => {
      throw new FsyncError('inbox', new Error('EIO'));
    };
    await expect(forwardOverdue({ ...parts, send })).rejects.toThrow(FsyncError);
  });
});
