/** What the service's answers may look like, and what they must not make us believe. */

import { describe, expect, test } from 'vitest';
import { MalformedAnswerError } from '../../contract/answer-json.js';
import { parseErrorBody, parseExportLocation, parsePing, parseToken } from '../../contract/api.js';
import { parseDetails } from '../../contract/parse-details.js';

const INVOICE = '7f3a1111-1111-1111-1111-111111111111';
const PARTNER = '33333333-3333-3333-3333-333333333333';
const OTHER = '44444444-4444-4444-4444-444444444444';

function bytes(value: unknown): Uint8Array {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
}

describe('parseToken (spec 2.1)', () => {
  const token = { access_token: 'abc==', token_type: 'bearer', expires_in: 3 };

  test('keeps the token verbatim, with every trailing =', () => {
    expect(parseToken(bytes(token))).toEqual({ accessToken: 'abc==', expiresInSeconds: 3, partnerIds: [] });
  });

  test.each([
    [{ partnerId: PARTNER }, [PARTNER]],
    [{ partnerIds: `${PARTNER} ${OTHER}` }, [PARTNER, OTHER]],
    [{ partnerIds: `${PARTNER},${OTHER}` }, [PARTNER, OTHER]],
    [{ partnerIds: JSON.stringify([PARTNER, OTHER]) }, [PARTNER, OTHER]],
    [{ partnerIds: [PARTNER, OTHER] }, [PARTNER, OTHER]],
    [{ partnerId: OTHER, partnerIds: `${PARTNER};${OTHER}` }, [OTHER, PARTNER]],
    [{ partnerId: null, partnerIds: '' }, []],
  ])('learns the partner from %j', (fields, partnerIds) => {
    expect(parseToken(bytes({ ...token, ...fields })).partnerIds).toEqual(partnerIds);
  });

  test.each([
    ['an empty token', { ...token, access_token: '' }, 'access_token'],
    ['no lifetime', { ...token, expires_in: undefined }, 'expires_in: missing'],
    ['another type', { ...token, token_type: 'mac' }, 'token_type'],
    ['HTML', '<html>', 'not JSON'],
  ])('refuses %s', (_, body, message) => {
    expect(() => parseToken(bytes(body))).toThrow(MalformedAnswerError);
    expect(() => parseToken(bytes(body))).toThrow(message);
  });

  test('never says what the token is', () => {
    expect(() => parseToken(bytes({ ...token, access_token: 's3cret', expires_in: 's3cret' }))).toThrow(
      /^(?!.*s3cret).*expires_in/,
    );
  });
});

test('parsePing takes 1 and pong, nothing else (spec 2.2)', () => {
  expect(() => parsePing(bytes({ status: 1, info: 'pong' }))).not.toThrow();
  expect(() => parsePing(bytes({ status: 0, info: 'pong' }))).toThrow(MalformedAnswerError);
  expect(() => parsePing(bytes({ status: 1 }))).toThrow('info: missing');
});

test('parseExportLocation reads the regenerate answer (spec 4.3)', () => {
  const answer = {
    presignedUrl: 'https://s.example/a?sig=1',
    presignedUrlExpiresAt: '2026-11-02T00:00:00Z',
    fileHashSha256: 'A'.repeat(64),
    fileSizeBytes: 12,
  };
  expect(parseExportLocation(bytes(answer))).toEqual({ ...answer, fileHashSha256: 'a'.repeat(64) });
  expect(() => parseExportLocation(bytes({ ...answer, fileSizeBytes: null }))).toThrow('fileSizeBytes');
});

describe('parseDetails (spec 4.4, shape not shown)', () => {
  const options = { invoiceId: INVOICE, wirePrefix: 'auto' };

  test.each([
    ['bare', { acmeInvoiceId: INVOICE, status: 'APPROVED' }],
    ['wrapped', { invoice: { serviceInvoiceId: INVOICE, invoiceStatus: 'finalized' }, lineItems: [] }],
    ['wrapped twice', { status: 'ok', data: { attributes: { invoiceId: INVOICE, status: 'Approved' } } }],
    ['in a list of one', { invoices: [{ id: INVOICE, status: 'APPROVED' }] }],
    [
      'beside line items with ids',
      { acmeInvoiceId: INVOICE, status: 'APPROVED', lineItems: [{ acmeInvoiceId: OTHER }] },
    ],
    ['without an id', { result: { status: 'APPROVED' } }],
  ])('finds the status: %s', (_, body) => {
    expect(parseDetails(bytes(body), options).status).toBe('finalized');
  });

  test.each([
    ['DRAFT', 'draft'],
    ['PENDING_APPROVAL', 'pending'],
    ['pending', 'pending'],
    ['CANCELED', 'voided'],
    ['voided', 'voided'],
    ['PAID', null],
  ])('reads %s as %s', (word, status) => {
    expect(parseDetails(bytes({ acmeInvoiceId: INVOICE, status: word }), options).status).toBe(status);
  });

  test('keeps the header fields it recognises, digits exact, and leaves out the rest', () => {
    const body =
      `{"acmeInvoiceId":"${INVOICE}","acmeTenantId":null,"invoiceNumber":"I-1","invoiceTotalAmount":12.3400,` +
      '"totalTransactionCount":"seven","currencyCode":"USD","invoiceDate":"2026-11-01","lineItems":[{"cost":1}]}';
    expect(parseDetails(bytes(body), options)).toEqual({
      status: null,
      header: {
        invoiceId: INVOICE,
        tenantId: null,
        invoiceNumber: 'I-1',
        invoiceTotalAmount: '12.3400',
        currencyCode: 'USD',
        invoiceDate: '2026-11-01',
      },
    });
  });

  test('takes an amount that is text', () => {
    expect(
      parseDetails(bytes({ invoiceId: INVOICE, invoiceTotalAmount: '9.10' }), options).header
        .invoiceTotalAmount,
    ).toBe('9.10');
  });

  test('refuses the details of another invoice, and answers without one', () => {
    expect(() => parseDetails(bytes({ acmeInvoiceId: OTHER, status: 'APPROVED' }), options)).toThrow(
      /is about/,
    );
    expect(() => parseDetails(bytes({ message: 'hello' }), options)).toThrow('holds no invoice');
    expect(() => parseDetails(bytes('[]'), options)).toThrow('holds no invoice');
  });
});

describe('parseErrorBody (spec 7, shapes partly not shown)', () => {
  test.each([
    [{ error: 'invalid_token', error_description: 'expired' }, 'invalid_token', 'expired'],
    [{ code: 'E1', message: 'no' }, 'E1', 'no'],
    [{ error: { code: 'E2', message: 'nested' } }, 'E2', 'nested'],
    ['<Error><Code>ExpiredToken</Code><Message>late</Message></Error>', 'ExpiredToken', 'late'],
    ['', null, null],
    ['<html>', null, null],
    ['[1]', null, null],
  ])('reads %j', (body, code, description) => {
    expect(parseErrorBody(bytes(body))).toEqual({ code, description });
  });

  test('shows no URL query and no control character', () => {
    const { description } = parseErrorBody(
      bytes({ error: 'x', message: 'at https://s.example/a?sig=s3cret\u001b[2J' }),
    );
    expect(description).toBe('at https://s.example/a');
  });
});
