import { describe, expect, test } from 'vitest';
import { parseErrorBody, parseExportLocation, parsePing, parseToken } from '../../../lib/wire/api.ts';
import { MalformedAnswerError } from '../../../lib/wire/json.ts';
import { parseDetails } from './parse-whole-details.ts';

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
  ])('reads the partner from %j', (fields, partnerIds) => {
    expect(parseToken(bytes({ ...token, ...fields })).partnerIds).toEqual(partnerIds);
  });

  test.each([
    ['an empty token', { ...token, access_token: '' }, 'access_token'],
    ['a lifetime that is none', { ...token, expires_in: 'soon' }, 'expires_in'],
    ['another type', { ...token, token_type: 'mac' }, 'token_type'],
    ['HTML', '<html>', 'not JSON'],
  ])('refuses %s', (_, body, message) => {
    expect(() => parseToken(bytes(body))).toThrow(MalformedAnswerError);
    expect(() => parseToken(bytes(body))).toThrow(message);
  });

  test.each([
    [{ expires_in: '3600' }, 3600],
    [{ expires_in: ' 3600.9 ' }, 3600],
    [{ expires_in: 59.5 }, 59],
    [{ expires_in: undefined }, 300],
    [{ expires_in: null, token_type: null }, 300],
    [{ token_type: ' Bearer ' }, 3],
    [{ token_type: 'BearerToken' }, 3],
    [{ expires_in: '9223372036854775807' }, 86_400],
    [{ expires_in: 1e30 }, 86_400],
    [{ expires_in: -1 }, 0],
    [{ expires_in: 0 }, 0],
  ])('accepts %j', (fields, seconds) => {
    expect(parseToken(bytes({ ...token, ...fields })).expiresInSeconds).toBe(seconds);
  });

  test('does not include the token in errors', () => {
    expect(() => parseToken(bytes({ ...token, access_token: 's3cret', expires_in: 's3cret' }))).toThrow(
      /^(?!.*s3cret).*expires_in/,
    );
  });
});

test('accepts ping with 1 and pong only (spec 2.2)', () => {
  expect(() => parsePing(bytes({ status: 1, info: 'pong' }))).not.toThrow();
  expect(() => parsePing(bytes({ status: 0, info: 'pong' }))).toThrow(MalformedAnswerError);
  expect(() => parsePing(bytes({ status: 1 }))).toThrow('info');
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

test.each([
  ['wrapped', (answer: object) => ({ data: { export: answer } })],
  ['in a list of one', (answer: object) => [answer]],
  [
    'in snake case, with numbers in quotes',
    ({ presignedUrl, fileHashSha256 }: Record<string, unknown>) => ({
      presigned_url: presignedUrl,
      presigned_url_expires_at: '20261102T000000+0000',
      file_hash_sha256: `sha256:${fileHashSha256}`,
      file_size_bytes: '12',
    }),
  ],
  ['without an end', (answer: object) => ({ ...answer, presignedUrlExpiresAt: null })],
  [
    'with an end in seconds since 1970',
    (answer: object) => ({ ...answer, presignedUrlExpiresAt: 4_102_444_800 }),
  ],
  [
    'with its hash in base64',
    (answer: object) => ({ ...answer, fileHashSha256: Buffer.alloc(32, 0xaa).toString('base64') }),
  ],
])('parseExportLocation reads one that is %s', (_, wrap) => {
  const answer = {
    presignedUrl: 'https://s.example/a?sig=1',
    presignedUrlExpiresAt: '2026-11-02T00:00:00Z',
    fileHashSha256: 'A'.repeat(64),
    fileSizeBytes: 12,
  };
  const { presignedUrlExpiresAt: end, ...rest } = parseExportLocation(bytes(wrap(answer)));
  const { presignedUrlExpiresAt: _end, ...expected } = answer;
  expect(rest).toEqual({ ...expected, fileHashSha256: 'a'.repeat(64) });
  expect(Date.parse(end)).toBeGreaterThanOrEqual(Date.parse(answer.presignedUrlExpiresAt));
});

test.each([
  ['the URL alone', '{"presignedUrl":"https://s.example/a"}', 'fileHashSha256'],
  ['a relative URL', '{"presignedUrl":"/a.csv"}', 'presignedUrl'],
  ['text after the JSON', '{"presignedUrl":"https://s.example/a"}<!-- cached -->', 'not JSON'],
  [
    'two sizes',
    `{"presignedUrl":"https://s.example/a","fileHashSha256":"${'a'.repeat(64)}","fileSizeBytes":1,"fileSizeBytes":2}`,
    'fileSizeBytes',
  ],
  ['an error', '{"error":"temporarily_unavailable","code":503}', 'presignedUrl'],
])('parseExportLocation refuses %s', (_, body, message) => {
  expect(() => parseExportLocation(bytes(body))).toThrow(message);
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

  test.each<readonly [string, string | null]>([
    ['DRAFT', 'draft'],
    ['PENDING_APPROVAL', 'pending'],
    ['pending', 'pending'],
    ['CANCELED', 'voided'],
    ['voided', 'voided'],
    ...[
      'CANCELLED',
      'VOID',
      'VOIDED',
      'Cancelled',
      'canceled',
      'cancelled',
      ' Void ',
      'INVOICE_STATUS_CANCELED',
    ].map((spelling) => [spelling, 'voided'] as const),
    ['Pending Approval', 'pending'],
    ['pending-approval', 'pending'],
    ['FINALISED', 'finalized'],
    ['invoice_finalized', 'finalized'],
    ['Created', 'draft'],
    ['PAID', null],
    ['notvoided', null],
  ])('reads %s as %s', (spelling, status) => {
    expect(parseDetails(bytes({ acmeInvoiceId: INVOICE, status: spelling }), options).status).toBe(status);
  });

  test.each([
    [{ status: 'REVERSED' }, 'REVERSED'],
    [{ status: { code: 'REVERSED', label: 'Reversed' } }, 'REVERSED'],
    [{ invoiceStatus: 'REVERSED', status: 'APPROVED' }, 'REVERSED'],
    [{ status: 4 }, '4'],
    [{ status: `${'x'.repeat(80)}\u202e` }, `${'x'.repeat(59)}…`],
    [{ status: null }, null],
    [{ status: '' }, null],
    [{}, null],
  ])('keeps an unknown status: %j', (fields, unknownStatus) => {
    const read = parseDetails(bytes({ acmeInvoiceId: INVOICE, ...fields }), options);
    expect(read).toMatchObject({ status: null, unknownStatus });
  });

  test.each([
    ['snake case', { acme_invoice_id: INVOICE, invoice_status: 'VOID', invoice_total_amount: '9.10' }],
    ['Pascal case', { AcmeInvoiceId: INVOICE, InvoiceStatus: 'VOID', InvoiceTotalAmount: 9.1 }],
    ['invoiceID', { invoiceID: INVOICE, status: { name: 'VOID' } }],
    [
      'a bare id and a status of its own',
      { data: [{ id: INVOICE, status: 'VOID', meta: { status: 'ok' } }] },
    ],
    ['a list at the top', [{ id: INVOICE, status: 'VOID' }]],
    [
      'the parent beside it',
      { parentInvoice: { id: OTHER, status: 'APPROVED' }, invoice: { id: INVOICE, status: 'VOID' } },
    ],
    [
      'one status is void, the other is not',
      { id: INVOICE, invoiceStatus: 'finalized', status: 'CANCELLED' },
    ],
    [
      'items under their names',
      {
        id: INVOICE,
        status: 'VOID',
        items: Object.fromEntries(
          Array.from({ length: 9_000 }, (_, i) => [`i${i}`, { id: OTHER, status: 'APPROVED' }]),
        ),
      },
    ],
    ['deep items', { lines: [[[[[[[[[[[[[[1]]]]]]]]]]]]]], id: INVOICE, status: 'VOID' }],
  ])('finds the void: %s', (_, body) => {
    expect(parseDetails(bytes(body), options).status).toBe('voided');
  });

  test.each([
    ['a byte order mark', Buffer.from(`\ufeff{"id":"${INVOICE}","status":"VOID"}`), {}],
    ['UTF-16', Buffer.from(`\ufeff{"id":"${INVOICE}","status":"VOID"}`, 'utf16le'), { charset: 'utf-16' }],
    ['Latin-1', Buffer.from(`{"name":"Südwind","id":"${INVOICE}","status":"VOID"}`, 'latin1'), {}],
  ])('reads %s', (_, body, more) => {
    expect(parseDetails(body, { ...options, ...more }).status).toBe('voided');
  });

  test.each([
    ['an early end', `{"id":"${INVOICE}","status":"VOID"`],
    ['two answers', `{"id":"${INVOICE}","status":"VOID"}{"id":"${INVOICE}","status":"APPROVED"}`],
    ['depth', '['.repeat(100_000)],
    ['nothing', ''],
    ['a page', '<html>'],
  ])('refuses %s', (_, body) => {
    expect(() => parseDetails(bytes(body), options)).toThrow(MalformedAnswerError);
  });

  test.each([
    ['"VOID","status":"APPROVED"', { status: 'voided', unknownStatus: null }],
    ['"APPROVED","status":"CANCELED"', { status: 'voided', unknownStatus: null }],
    ['"APPROVED","status":"DRAFT"', { status: null, unknownStatus: 'APPROVED and DRAFT' }],
    ['"APPROVED","status":"APPROVED"', { status: 'finalized', unknownStatus: null }],
  ])('finds a void in a duplicate status, %s, and guesses nothing', (statuses, expected) => {
    const inner = `{"invoice":{"id":"${INVOICE}","currencyCode":"USD"},"invoice":{"status":${statuses}}}`;
    expect(parseDetails(bytes(inner), options)).toMatchObject({
      ...expected,
      header: { currencyCode: 'USD' },
    });
  });

  test('keeps the known header fields with exact digits', () => {
    const body =
      `{"acmeInvoiceId":"${INVOICE}","acmeTenantId":null,"invoiceNumber":"I-1","invoiceTotalAmount":12.3400,` +
      '"totalTransactionCount":"seven","currencyCode":"USD","invoiceDate":"2026-11-01","lineItems":[{"cost":1}]}';
    expect(parseDetails(bytes(body), options)).toEqual({
      status: null,
      unknownStatus: null,
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

  test('reads ids, numbers, days and currencies in the spellings in which deliveries are read', () => {
    const body = {
      acmeInvoiceId: `{${INVOICE.replaceAll('-', '')}}`,
      acmeTenantId: `urn:uuid:${OTHER}`,
      ...{ partnerInvoiceId: 4711, partnerTenantId: null, invoiceNumber: 1042, currencyCode: 'usd' },
      ...{ invoiceTotalAmount: '1e2', totalTransactionCount: '3.0', invoiceDate: '20261101' },
      invoiceDueDate: '2026-11-16 08:30:00+0000',
    };
    expect(parseDetails(bytes(body), options).header).toEqual({
      ...{ invoiceId: INVOICE, tenantId: OTHER, partnerInvoiceId: '4711', partnerTenantId: null },
      ...{ invoiceNumber: '1042', currencyCode: 'USD', invoiceTotalAmount: '100' },
      ...{ totalTransactionCount: 3, invoiceDate: '2026-11-01', invoiceDueDate: '2026-11-16T08:30:00.000Z' },
    });
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

  test('removes URL queries and control characters', () => {
    const { description } = parseErrorBody(
      bytes({ error: 'x', message: 'at https://s.example/a?sig=s3cret\u001b[2J' }),
    );
    expect(description).toBe('at https://s.example/a');
  });
});
