import { describe, expect, test } from 'vitest';
import { withoutUrlQuery } from '../../../lib/wire/invoice-event.ts';
import { EVENT_TYPES } from '../../../lib/wire/names.ts';
import { parseDelivery } from '../../../lib/wire/parse-delivery.ts';
import { EVENT_TYPES as SENT_TYPES } from '../../../sandbox/model.ts';

const INVOICE = '7f3a1111-1111-1111-1111-111111111111';
const TENANT = '22222222-2222-2222-2222-222222222222';
const METADATA = {
  eventId: '11111111-1111-1111-1111-111111111111',
  eventTimestamp: '2026-11-01T10:00:00+00:00',
  eventType: 'invoice_finalized',
  partnerId: '33333333-3333-3333-3333-333333333333',
  payloadSchemaVersion: 'v1',
  testEvent: false,
};
const PAYLOAD = {
  acmeInvoiceId: INVOICE,
  partnerInvoiceId: null,
  acmeTenantId: TENANT,
  partnerTenantId: 'T-9',
  invoiceNumber: 'INV-1',
  invoiceStatus: 'finalized',
  invoiceStartDate: '2026-10-01',
  invoiceEndDate: '2026-10-31T23:59:59Z',
  invoiceDate: '2026-11-01',
  invoiceDueDate: '2026-11-16',
  currencyCode: 'USD',
  invoiceTotalAmount: 10.5,
  totalTransactionCount: 3,
  presignedUrl: 'https://storage.example/7f3a.csv?X-Signature=s3cret&X-Expires=86400',
  presignedUrlExpiresAt: '2026-11-02T10:00:00Z',
  fileHashSha256: 'AB'.repeat(32),
  fileSizeBytes: 4112,
};

function parse(text: string, wirePrefix = 'auto') {
  return parseDelivery(Buffer.from(text), { wirePrefix });
}
function parseWith(changes: { metadata?: object; payload?: object }, wirePrefix = 'auto') {
  return parse(
    JSON.stringify({
      metadata: { ...METADATA, ...changes.metadata },
      payload: { ...PAYLOAD, ...changes.payload },
    }),
    wirePrefix,
  );
}

describe('parseDelivery', () => {
  test('reads a finalized event with its export (spec 2.5 to 2.7)', () => {
    const parsed = parseWith({});
    expect(parsed).toMatchObject({
      kind: 'event',
      event: {
        eventType: 'invoice_finalized',
        isTestEvent: false,
        invoice: {
          invoiceId: INVOICE,
          tenantId: TENANT,
          partnerInvoiceId: null,
          invoiceTotalAmount: '10.5',
          totalTransactionCount: 3,
        },
        export: { presignedUrl: PAYLOAD.presignedUrl, fileHashSha256: 'ab'.repeat(32), fileSizeBytes: 4112 },
      },
    });
    if (parsed.kind !== 'event') return;
    expect(parsed.event.invoice).not.toHaveProperty('acmeInvoiceId');
    expect(JSON.stringify(withoutUrlQuery(parsed.event))).not.toContain('s3cret');
  });

  test('keeps every digit of the amount, in the event and in the envelope', () => {
    const text = JSON.stringify({
      metadata: METADATA,
      payload: { ...PAYLOAD, invoiceTotalAmount: 0 },
    }).replace(
      '"invoiceTotalAmount":0',
      '"invoiceTotalAmount":12345678901234.5670,"surcharges":[1.10e2],"newField":{"a":null}',
    );
    const parsed = parse(text);
    expect(parsed).toMatchObject({
      kind: 'event',
      event: { invoice: { invoiceTotalAmount: '12345678901234.5670' } },
    });
    expect(parsed.envelope).toContain(
      '"invoiceTotalAmount":12345678901234.5670,"surcharges":[1.10e2],"newField":{"a":null}',
    );
  });

  test('keeps no URL query in the envelope, in any field', () => {
    const parsed = parseWith({
      payload: {
        presignedUrl: 'https://storage.example/a b.csv?sig=s3cret',
        later: {
          url: 'https://user:s3cret@storage.example/x?y=s3cret#s3cret',
          text: 'see https://h/p?s3cret" and',
        },
      },
    });
    expect(parsed.kind).toBe('event');
    expect(parsed.envelope).not.toContain('s3cret');
    expect(JSON.parse(parsed.envelope ?? '')).toMatchObject({
      payload: { later: { url: 'https://storage.example/x', text: 'see https://h/p" and' } },
    });
  });

  test.each([
    [
      'neutral spelling',
      {
        acmeInvoiceId: undefined,
        acmeTenantId: undefined,
        serviceInvoiceId: INVOICE,
        serviceTenantId: TENANT,
      },
      'auto',
    ],
    [
      'another maker',
      { acmeInvoiceId: undefined, acmeTenantId: undefined, zetaInvoiceId: INVOICE, zetaTenantId: TENANT },
      'auto',
    ],
    ['both, with the same value', { serviceInvoiceId: INVOICE, serviceTenantId: TENANT }, 'auto'],
    ['an added field that looks like a maker', { originalInvoiceId: METADATA.eventId }, 'auto'],
    ['the configured prefix beside another', { zetaInvoiceId: METADATA.eventId, zetaTenantId: null }, 'acme'],
    [
      'the neutral spelling although a prefix is configured',
      {
        acmeInvoiceId: undefined,
        acmeTenantId: undefined,
        serviceInvoiceId: INVOICE,
        serviceTenantId: TENANT,
      },
      'zeta',
    ],
  ])('finds the ids: %s', (_, payload, wirePrefix) => {
    expect(parseWith({ payload }, wirePrefix)).toMatchObject({
      kind: 'event',
      event: { invoice: { invoiceId: INVOICE, tenantId: TENANT, partnerTenantId: 'T-9' } },
    });
  });

  test.each([
    [
      'two makers that differ',
      { zetaInvoiceId: METADATA.eventId, zetaTenantId: TENANT },
      'auto',
      'contradict',
    ],
    ['neutral and maker that differ', { serviceInvoiceId: METADATA.eventId }, 'auto', 'contradict'],
    ['only a foreign prefix', {}, 'zeta', 'payload.invoiceId: missing'],
  ])('refuses to guess the ids: %s', (_, payload, wirePrefix, message) => {
    expect(parseWith({ payload }, wirePrefix)).toMatchObject({
      kind: 'unusable',
      code: 'invalid-payload',
      eventId: METADATA.eventId,
      message: expect.stringContaining(message),
    });
  });

  test('tenant ids that contradict each other are read as neither, not as no tenant', () => {
    const parsed = parseWith({ payload: { serviceTenantId: null } });
    expect(parsed).toMatchObject({ kind: 'event', event: { invoice: { invoiceId: INVOICE } } });
    expect(parsed.kind === 'event' && 'tenantId' in parsed.event.invoice).toBe(false);
  });

  describe('of a duplicate key with different values', () => {
    const whole = JSON.stringify({ metadata: METADATA, payload: PAYLOAD });
    const twice = (key: string, other: unknown) =>
      parse(whole.replace(`"${key}":`, `"${key}":${JSON.stringify(other)},"${key}":`));

    test('neither is used, everything else is, and the envelope keeps both', () => {
      const parsed = twice('invoiceTotalAmount', 99.9);
      expect(parsed).toMatchObject({
        kind: 'event',
        unread: ['payload.invoiceTotalAmount'],
        contradictory: ['payload.invoiceTotalAmount'],
        event: { eventId: METADATA.eventId, invoice: { invoiceId: INVOICE, totalTransactionCount: 3 } },
      });
      expect(parsed.envelope).toContain('"invoiceTotalAmount":{"contradictoryValues":[99.9,10.5]}');
    });

    test.each([
      ['invoiceNumber', 'INV-2', 'payload.invoiceNumber'],
      ['acmeTenantId', null, 'payload.acmeTenantId'],
      ['testEvent', true, 'metadata.testEvent'],
      ['partnerId', TENANT, 'metadata.partnerId'],
      ['fileHashSha256', 'cd'.repeat(32), 'payload.fileHashSha256'],
      ['__proto__', 1, undefined],
    ])('%s: the event is kept', (key, other, place) => {
      expect(twice(key, other)).toMatchObject({
        kind: 'event',
        contradictory: place === undefined ? [] : [place],
        event: { isTestEvent: false, eventType: 'invoice_finalized', invoice: { invoiceId: INVOICE } },
      });
    });

    test('the event id: one is made from the bytes, which a retry repeats', () => {
      const parsed = twice('eventId', TENANT);
      expect(parsed).toMatchObject({ kind: 'event', unread: ['metadata.eventId'] });
      expect(twice('eventId', TENANT)).toEqual(parsed);
    });

    test.each([
      ['eventType', 'invoice_voided', 'unknown-event-type'],
      ['payloadSchemaVersion', 'v2', 'unknown-schema-version'],
    ])('%s: nothing is guessed, the invoice is named', (key, other, code) => {
      const message = `metadata.${key} occurs twice, with different values.`;
      expect(twice(key, other)).toMatchObject({ kind: 'unsupported', code, message, invoiceId: INVOICE });
    });

    test('the invoice: it is refused, as by two makers that differ', () => {
      const message = 'payload.invoiceId: occurs twice, with different values';
      expect(twice('acmeInvoiceId', TENANT)).toMatchObject({ kind: 'unusable', message, invoiceId: null });
    });
  });

  test.each([
    [null, { tenantId: null }],
    [undefined, {}],
    ['acme', { isTenantUnread: true }],
  ])('reads the tenant id %j as stated, as silence or as unreadable (spec 2.9)', (acmeTenantId, expected) => {
    const parsed = parseWith({ payload: { acmeTenantId } });
    const { tenantId, isTenantUnread } = parsed.kind === 'event' ? parsed.event.invoice : {};
    expect({ tenantId, isTenantUnread }).toEqual(expected);
  });

  test.each(['invoice_created', 'invoice_voided'])(
    '%s carries no export, even when fields of one are there',
    (eventType) => {
      expect(parseWith({ metadata: { eventType } })).toMatchObject({
        kind: 'event',
        event: { export: null },
      });
    },
  );

  test('lets the event type decide where the status contradicts it', () => {
    expect(parseWith({ payload: { invoiceStatus: 'pending' } })).toMatchObject({
      kind: 'event',
      event: { eventType: 'invoice_finalized', invoice: { invoiceStatus: 'pending' } },
    });
  });

  test.each([
    ...([
      'invoiceNumber',
      'invoiceStatus',
      'invoiceStartDate',
      'invoiceEndDate',
      'invoiceDate',
      'invoiceDueDate',
    ] as const),
    ...(['currencyCode', 'invoiceTotalAmount', 'totalTransactionCount'] as const),
  ])('keeps an event without %s, or with null or rubbish there, and lists it as unread', (field) => {
    for (const value of [undefined, null, { a: [1] }, '\u0001?']) {
      const parsed = parseWith({ payload: { [field]: value } });
      if (field === 'invoiceNumber' && value === '\u0001?') continue;
      expect(parsed).toMatchObject({ kind: 'event', unread: [`payload.${field}`] });
      expect(parsed.kind === 'event' && field in parsed.event.invoice).toBe(false);
    }
  });

  test.each(['presignedUrl', 'presignedUrlExpiresAt', 'fileHashSha256', 'fileSizeBytes'])(
    'keeps a finalized event whose %s cannot be read, without a file: one is requested from the service',
    (field) => {
      for (const value of [undefined, null, {}, 'x']) {
        expect(parseWith({ payload: { [field]: value } })).toMatchObject({
          kind: 'event',
          event: { eventType: 'invoice_finalized', export: null },
          unread: ['payload.presignedUrl and its fields'],
        });
      }
    },
  );

  test.each([
    ['2026-11-01T10:00Z', '2026-11-01T10:00:00.000Z'],
    ['2026-11-01T10:00:00+0000', '2026-11-01T10:00:00.000Z'],
    ['2026-11-01T12:30:00.5+0230', '2026-11-01T10:00:00.500Z'],
    ['20261101T100000Z', '2026-11-01T10:00:00.000Z'],
    ['20261101T1000', '2026-11-01T10:00:00.000Z'],
    ['2026-11-01 10:00:00,25+00', '2026-11-01T10:00:00.250Z'],
    ['2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01T10:00:00', '2026-11-01T10:00:00.000Z'],
    ['2026-11-01T10:00:00.123456789-05:00', '2026-11-01T10:00:00.123456789-05:00'],
    ['2026-02-30T10:00:00Z', ''],
    ['yesterday', ''],
  ])('reads the instant %s', (eventTimestamp, read) => {
    expect(parseWith({ metadata: { eventTimestamp } })).toMatchObject({ event: { eventTimestamp: read } });
  });

  test.each([
    [{ invoiceTotalAmount: '10.50' }, { invoiceTotalAmount: '10.50' }],
    [{ invoiceTotalAmount: '1e2' }, { invoiceTotalAmount: '100' }],
    [{ totalTransactionCount: '3' }, { totalTransactionCount: 3 }],
    [{ invoiceNumber: 17 }, { invoiceNumber: '17' }],
    [{ invoiceDate: '20261101' }, { invoiceDate: '2026-11-01' }],
    [{ invoiceDate: '2026-11-01T10:00Z' }, { invoiceDate: '2026-11-01T10:00:00.000Z' }],
    [{ currencyCode: 'usd' }, { currencyCode: 'USD' }],
    [{ invoiceStatus: 'Approved' }, { invoiceStatus: 'finalized' }],
    [{ acmeInvoiceId: `{${INVOICE}}` }, { invoiceId: INVOICE }],
    [{ acmeInvoiceId: INVOICE.replaceAll('-', '') }, { invoiceId: INVOICE }],
    [
      { parentInvoiceId: null, parentTenantId: null },
      { invoiceId: INVOICE, tenantId: TENANT },
    ],
    [
      { parentInvoiceId: TENANT, parentTenantId: INVOICE },
      { invoiceId: INVOICE, tenantId: TENANT },
    ],
    [
      { otherInvoiceId: null, otherTenantId: null },
      { invoiceId: INVOICE, tenantId: TENANT },
    ],
  ])('reads %j', (payload, invoice) => {
    expect(parseWith({ payload })).toMatchObject({ kind: 'event', unread: [], event: { invoice } });
  });

  test.each([
    [{ invoiceTotalAmount: '1,000.50' }, 'payload.invoiceTotalAmount'],
    [{ totalTransactionCount: 1.5 }, 'payload.totalTransactionCount'],
    [{ totalTransactionCount: -1 }, 'payload.totalTransactionCount'],
    [{ invoiceDate: '01/11/2026' }, 'payload.invoiceDate'],
    [{ invoiceDate: '2026-02-30' }, 'payload.invoiceDate'],
    [{ invoiceStatus: 'banana' }, 'payload.invoiceStatus'],
  ])('guesses nothing of %j', (payload, field) => {
    expect(parseWith({ payload })).toMatchObject({ kind: 'event', unread: [field] });
  });

  test.each([
    [{ acmeInvoiceId: '../../etc/passwd' }, 'payload.invoiceId: expected a UUID'],
    [{ acmeInvoiceId: null }, 'payload.invoiceId: missing'],
  ])('refuses %j, which names no invoice', (payload, message) => {
    expect(parseWith({ payload })).toMatchObject({ kind: 'unusable', code: 'invalid-payload', message });
  });

  test.each([
    { event: { metadata: METADATA, payload: PAYLOAD } },
    [{ metadata: METADATA, payload: PAYLOAD }],
    { metadata: METADATA, payload: [PAYLOAD] },
    { metadata: METADATA, payload: { invoice: PAYLOAD } },
    { metadata: METADATA, data: PAYLOAD },
    { ...METADATA, ...PAYLOAD },
  ])('finds the envelope in another shape: %.60j', (json) => {
    expect(parse(JSON.stringify(json))).toMatchObject({
      kind: 'event',
      unread: [],
      event: { eventId: METADATA.eventId, invoice: { invoiceId: INVOICE } },
    });
  });

  test.each(['INVOICE_VOIDED', 'invoice.voided', 'InvoiceVoided', ' invoice-voided '])(
    'reads the event type %j',
    (eventType) => {
      expect(parseWith({ metadata: { eventType } })).toMatchObject({
        event: { eventType: 'invoice_voided' },
      });
    },
  );

  test('reads the status without an event type, and refuses an event without both', () => {
    const metadata = { eventType: undefined };
    expect(parseWith({ metadata, payload: { invoiceStatus: 'voided' } })).toMatchObject({
      event: { eventType: 'invoice_voided' },
    });
    expect(parseWith({ metadata, payload: { invoiceStatus: 'pending' } })).toMatchObject({
      kind: 'unusable',
      code: 'invalid-metadata',
      message: 'metadata.eventType: missing',
      invoiceId: INVOICE,
    });
  });

  test.each(['eventTimestamp', 'partnerId'])('keeps an event without %s, and lists it as unread', (field) => {
    expect(parseWith({ metadata: { [field]: undefined } })).toMatchObject({
      kind: 'event',
      event: { [field]: '' },
      unread: [`metadata.${field}`],
    });
  });

  test.each([1, 2])('accepts an event without a partner where %i are ours', (count) => {
    const text = JSON.stringify({ metadata: { ...METADATA, partnerId: null }, payload: PAYLOAD });
    const partnerIds = [TENANT, INVOICE].slice(0, count);
    const parsed = parseDelivery(Buffer.from(text), { wirePrefix: 'auto', partnerIds });
    expect(parsed).toMatchObject({ event: { partnerId: TENANT } });
    expect(parsed.kind === 'event' && parsed.event.isPartnerAssumed).toBe(count > 1 || undefined);
  });

  test.each([undefined, null, 1, '1', 'V1', 'v1.2'])('takes the schema version %j for v1', (version) => {
    expect(parseWith({ metadata: { payloadSchemaVersion: version } })).toMatchObject({ kind: 'event' });
  });

  test.each([
    [true, 'test'],
    ['true', 'test'],
    [1, 'test'],
    [false, 'event'],
    ['false', 'event'],
    [null, 'event'],
    [undefined, 'event'],
  ])('testEvent %j makes it a %s event', (testEvent, kind) => {
    expect(parseWith({ metadata: { testEvent } })).toMatchObject({ kind });
  });

  test.each(['../../x', '11111111-1111-1111-1111-11111111111/', 7, 'evt_0001', undefined, null, ''])(
    'the event id %j becomes a UUID, the same each time and another for another',
    (eventId) => {
      const idOf = (parsed: ReturnType<typeof parse>): string | null =>
        parsed.kind === 'event' ? parsed.event.eventId : parsed.eventId;
      const id = idOf(parseWith({ metadata: { eventId } }));
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(idOf(parseWith({ metadata: { eventId } }))).toBe(id);
      const another = { metadata: { eventId: eventId ? `${eventId}2` : eventId }, payload: { added: 1 } };
      expect(idOf(parseWith(another))).not.toBe(id);
      expect(idOf(parseWith({ metadata: { eventId, testEvent: true } }))).not.toBeNull();
    },
  );

  test('does not check the payload of a test event (spec 6, rule 4)', () => {
    const text = JSON.stringify({ metadata: { ...METADATA, testEvent: true }, payload: 'anything' });
    expect(parse(text)).toMatchObject({ kind: 'test', eventId: METADATA.eventId, event: null });
    expect(parseWith({ metadata: { testEvent: true } })).toMatchObject({
      kind: 'test',
      event: { isTestEvent: true, invoice: { invoiceId: INVOICE } },
    });
  });

  test('keeps what a later version of the service may send', () => {
    expect(parseWith({ metadata: { eventType: 'invoice_paid' } })).toMatchObject({
      kind: 'unsupported',
      code: 'unknown-event-type',
      invoiceId: INVOICE,
    });
    expect(parseWith({ metadata: { payloadSchemaVersion: 'v2' } })).toMatchObject({
      kind: 'unsupported',
      code: 'unknown-schema-version',
      eventId: METADATA.eventId,
    });
  });

  test.each([
    ['', 'not-json', null],
    ['{"metadata":', 'not-json', null],
    ['[]', 'invalid-metadata', '[]'],
    ['null', 'invalid-metadata', 'null'],
    ['{"metadata":{},"metadata":{"a":1}}', 'invalid-payload', '{"metadata":{"a":1}}'],
    [`${'['.repeat(200_000)}`, 'not-json', null],
  ])('refuses %.40j', (text, code, envelope) => {
    expect(parse(text)).toMatchObject({ kind: 'unusable', code, eventId: null, envelope });
  });

  test('refuses bytes that are no UTF-8', () => {
    expect(parseDelivery(Buffer.from([0x22, 0xff, 0x22]), { wirePrefix: 'auto' })).toMatchObject({
      code: 'not-json',
    });
  });
});

test('the sandbox, which imports nothing of ours, sends the event types that the table has', () => {
  expect(SENT_TYPES).toEqual(EVENT_TYPES);
});
