/** What the door notices besides what it answers. */

import { describe, expect, test } from 'vitest';
import { createReceiver } from '../../webhook/receive-delivery.js';
import { aDelivery, openParts } from './a-delivery.js';

describe('receiver', () => {
  test('an event from the future is taken, and the clocks are told of', async () => {
    const parts = await openParts();
    const eventTimestamp = new Date(Date.now() + 2 * 3_600_000).toISOString();
    const { eventId, body } = aDelivery({ metadata: { eventTimestamp } });
    expect(await createReceiver(parts).receive(Buffer.from(body))).toMatchObject({ status: 'accepted' });
    expect(await parts.inbox.has({ kind: 'event', eventId })).toBe('pending');
    expect(parts.logged.join('')).toMatch(/"aheadSeconds":7(199|200)\b.*clock/);
  });

  test('an event of long ago is nothing to tell: it may be sent again at any time', async () => {
    const parts = await openParts();
    const { body } = aDelivery({ metadata: { eventTimestamp: '2026-03-01T00:00:00Z' } });
    await createReceiver(parts).receive(Buffer.from(body));
    expect(parts.logged.join('')).not.toContain('aheadSeconds');
  });
});
