/** A delivery is parsed at the door and not again by the forwarder, unless a byte of it is another. */

import { describe, expect, test } from 'vitest';
import { parseDelivery } from '../../lib/wire/parse-delivery.ts';
import { parseOnce } from '../../webhook/parse-once.ts';
import { aDelivery, type DeliveryOver, PARTNER } from './a-delivery.ts';

const options = { wirePrefix: 'auto', partnerId: PARTNER };
const bytes = (over?: DeliveryOver): Buffer => Buffer.from(aDelivery(over).body);

describe('parseOnce', () => {
  test('answers the forwarder what the door parsed, once, and what `parseDelivery` answers', () => {
    const body = bytes();
    const first = parseOnce(body, options);
    expect(parseOnce(Buffer.from(body), options)).toBe(first);
    expect(first).toEqual(parseDelivery(body, options));
    expect(parseOnce(body, options)).not.toBe(first);
  });

  test('parses again what differs in a byte, or is read for another partner', () => {
    const body = bytes();
    const parsed = parseOnce(body, options);
    const changed = Buffer.from(body.toString().replace('INV-1', 'INV-2'));
    expect(parseOnce(changed, options)).toMatchObject({ event: { invoice: { invoiceNumber: 'INV-2' } } });
    expect(parseOnce(body, { ...options, partnerId: undefined })).not.toBe(parsed);
    expect(parseOnce(body, { ...options, wirePrefix: 'maker' })).not.toBe(parsed);
    expect(parseOnce(body, options)).toBe(parsed);
  });

  test('remembers no refusals, nothing large and no long backlog', () => {
    const refused = [bytes({ metadata: { eventType: 'invoice_paid' } }), Buffer.from('no JSON')];
    const large = bytes({ payload: { note: 'x'.repeat(64 * 1024) } });
    for (const body of [...refused, large]) {
      expect(parseOnce(body, options)).not.toBe(parseOnce(body, options));
    }
    const first = bytes();
    const parsed = parseOnce(first, options);
    for (let i = 0; i < 64; i += 1) parseOnce(bytes(), options);
    expect(parseOnce(first, options)).not.toBe(parsed);
  });

  test('is not misled by bytes that are used again for another delivery', () => {
    const body = bytes();
    parseOnce(body, options);
    body.set(Buffer.from(body.toString().replace('INV-1', 'INV-2')));
    expect(parseOnce(body, options)).toMatchObject({ event: { invoice: { invoiceNumber: 'INV-2' } } });
  });
});
