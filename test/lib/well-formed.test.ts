/** Half a character in one text must not be able to stop the stores that every other text shares with it. */

import fc from 'fast-check';
import { stringify } from 'lossless-json';
import { describe, expect, test } from 'vitest';
import { plainDecimal } from '../../lib/decimal.ts';
import { printable, wellFormed } from '../../lib/text.ts';
import { parseJson, wellFormedInside, wellFormedJson } from '../../lib/wire/json.ts';
import { parseDelivery } from '../../lib/wire/parse-delivery.ts';
import { parseDetails } from './wire/parse-whole-details.ts';

const anyText = fc.string({ unit: 'binary' });
const brokenText = fc
  .array(fc.oneof(anyText, fc.constantFrom('\ud800', '\udfff', '\0', '\\u0000', '😀', '\\', '"')))
  .map((parts) => parts.join(''));

describe('text of others', () => {
  test('is well-formed after parsing, in values and names', () => {
    const json = '{"a\\ud800":["x\\udc00",{"b":"\\ud83d\\ude00"}],"c":"\\u0000","d":1.50}';
    expect(stringify(parseJson(Buffer.from(json)))).toBe(
      '{"a\ufffd":["x\ufffd",{"b":"😀"}],"c":"\ufffd","d":1.50}',
    );
  });

  test('is not cut inside a character', () => {
    const emoji = '💰'.repeat(100);
    expect(printable(emoji, 60)).toBe(`${'💰'.repeat(29)}…`);
    const invoiceId = '7f3a1111-1111-1111-1111-111111111111';
    const body = Buffer.from(JSON.stringify({ invoiceId, status: emoji }));
    expect(parseDetails(body, { invoiceId, wirePrefix: 'auto' }).unknownStatus?.isWellFormed()).toBe(true);
    const delivery = Buffer.from(
      JSON.stringify({
        metadata: { eventId: invoiceId, eventType: 'invoice_created', partnerId: `x${emoji}` },
        payload: { serviceInvoiceId: invoiceId },
      }),
    );
    expect(JSON.stringify(parseDelivery(delivery, { wirePrefix: 'auto' }))).not.toContain('\\ud83d');
    expect(() => plainDecimal(`x${emoji}`)).toThrow(/^[^\ud800-\udfff]*(?:💰)+…/u);
  });

  test('is read behind a field named __proto__', () => {
    const value = parseJson('{"a":"\\ud800","__proto__":{"b":"\\ud800"}}') as { a: string };
    expect(value.a).toBe('\ufffd');
  });

  test('is accepted by every store and unchanged when valid', () => {
    fc.assert(
      fc.property(brokenText, anyText, (broken, name) => {
        const kept = wellFormed(broken);
        expect(kept.isWellFormed() && !kept.includes('\0')).toBe(true);
        expect(kept).toHaveLength(broken.length);
        if (broken.isWellFormed() && !broken.includes('\0')) expect(kept).toBe(broken);
        const json = wellFormedJson({ [name]: [broken] });
        expect(JSON.parse(json)).toEqual(wellFormedInside({ [name]: [broken] }));
      }),
    );
  });
});
