import { digitsOf, jsonObject, textOf } from '../http.ts';
import { invoiceIdOf, type ReceivedRequest } from '../receiver.ts';
import { breakRule, type Rule, requireNoComplaint, requireThat, rule, UUID } from '../rule.ts';
import { approvedInvoice, canceledInvoice, openEndpoint, partnerInvoice, receiveEvent } from '../stories.ts';
import type { SuiteContext } from '../suite-context.ts';

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:?00)$/;
const DAY_MS = 86_400_000;

type Test = (value: unknown) => boolean;
const isUuid: Test = (value) => UUID.test(textOf(value) ?? '');
const isIso: Test = (value) => ISO.test(textOf(value) ?? '');
const isText: Test = (value) => textOf(value) !== null;
const isNullable =
  (test: Test): Test =>
  (value) =>
    value === null || value === undefined || test(value);

const METADATA: Readonly<Record<string, Test>> = {
  eventId: isUuid,
  eventTimestamp: (value) => UTC.test(textOf(value) ?? ''),
  eventType: (value) => /^invoice_(created|finalized|voided)$/.test(textOf(value) ?? ''),
  partnerId: isUuid,
  payloadSchemaVersion: (value) => value === 'v1',
  testEvent: (value) => value === false,
};

/** The fields of 2.6 whose names have no prefix of the maker. */
const PAYLOAD: Readonly<Record<string, Test>> = {
  partnerInvoiceId: isNullable(isText),
  partnerTenantId: isNullable(isText),
  invoiceNumber: isText,
  invoiceStatus: (value) => /^(draft|finalized|voided)$/.test(textOf(value) ?? ''),
  invoiceStartDate: isIso,
  invoiceEndDate: isIso,
  invoiceDate: isIso,
  invoiceDueDate: isIso,
  currencyCode: (value) => /^[A-Z]{3}$/.test(textOf(value) ?? ''),
  invoiceTotalAmount: (value) => digitsOf(value) !== null,
  totalTransactionCount: (value) => /^\d+$/.test(digitsOf(value) ?? ''),
};

const LOCATION: Readonly<Record<string, Test>> = {
  presignedUrl: (value) => URL.canParse(textOf(value) ?? ''),
  presignedUrlExpiresAt: isIso,
  fileHashSha256: (value) => /^[0-9a-f]{64}$/i.test(textOf(value) ?? ''),
  fileSizeBytes: (value) => /^\d+$/.test(digitsOf(value) ?? ''),
};

export const envelopeRules: readonly Rule[] = [
  rule('2.4', 'envelope', 'Every delivery is an envelope of metadata and payload', async (context) => {
    const { received } = await context.once(canceledInvoice);
    const keys = received.map(({ body }) =>
      Object.keys(jsonObject(body) ?? {})
        .sort()
        .join(),
    );
    requireThat(
      keys.every((key) => key === 'metadata,payload'),
      keys.join('; '),
    );
    return `${received.length} deliveries`;
  }),
  rule(
    '2.5',
    'metadata-fields',
    'Metadata has its six fields, identical for all event types',
    async (context) => {
      const { received } = await context.once(canceledInvoice);
      requireNoComplaint(
        received.flatMap((one) =>
          complaints(one.metadata, METADATA).map((text) => `${one.eventType}: ${text}`),
        ),
      );
      return received.map(({ eventType }) => eventType).join(', ');
    },
  ),
  rule('2.5', 'event-id-unique', 'eventId is unique per event', async (context) => {
    const { received } = await context.once(canceledInvoice);
    const ids = new Set(received.map(({ eventId }) => eventId));
    requireThat(ids.size === received.length, `${received.length} deliveries with ${ids.size} ids`);
    return `${ids.size} events, ${ids.size} ids`;
  }),
  rule('2.5', 'partner-id', "partnerId is the token's partner", async (context) => {
    const { finalized } = await context.once(approvedInvoice);
    const token = jsonObject((await context.service.requestToken()).body);
    requireThat(
      finalized.metadata.partnerId === token?.partnerId,
      `${finalized.metadata.partnerId}, not ${token?.partnerId}`,
    );
    return String(token?.partnerId);
  }),
  rule(
    '2.6',
    'payload-fields',
    'The invoice payload has its fields, each of its type, for all event types',
    async (context) => {
      const { received } = await context.once(canceledInvoice);
      requireNoComplaint(
        received.flatMap((one) =>
          complaints(one.payload, PAYLOAD).map((text) => `${one.eventType}: ${text}`),
        ),
      );
      const noId = received.filter(({ payload }) => !isUuid(invoiceIdOf(payload)));
      requireThat(noId.length === 0, 'the invoice id is missing or no UUID');
      return `${Object.keys(PAYLOAD).length + 2} fields`;
    },
  ),
  rule(
    '2.6',
    'maker-prefix',
    "Both id fields carry the maker's prefix, one and the same",
    async (context) => {
      const { finalized } = await context.once(approvedInvoice);
      const { invoice, tenant } = prefixesOf(finalized);
      requireThat(invoice !== null && invoice === tenant, `prefixes ${invoice} and ${tenant}`);
      return `${invoice}InvoiceId, ${tenant}TenantId`;
    },
  ),
  rule(
    '2.6',
    'neutral-spelling',
    'The neutral spelling of the same names exists as well',
    async (context) => {
      const received = await context.once(shortLivedFinalized);
      const { invoice, tenant } = prefixesOf(received);
      requireThat(invoice === 'service' && tenant === 'service', `prefixes ${invoice} and ${tenant}`);
      return 'serviceInvoiceId, serviceTenantId';
    },
  ),
  rule('2.6', 'due-date', 'invoiceDueDate is the invoice date plus 15 days', async (context) => {
    const { created, finalized } = await context.once(approvedInvoice);
    for (const { payload } of [created, finalized]) {
      const days =
        (Date.parse(String(payload.invoiceDueDate)) - Date.parse(String(payload.invoiceDate))) / DAY_MS;
      requireThat(days === 15, `${payload.invoiceDate} and ${payload.invoiceDueDate} are ${days} days apart`);
    }
    return `${finalized.payload.invoiceDate} and ${finalized.payload.invoiceDueDate}`;
  }),
  rule(
    '2.7',
    'finalized-fields',
    'invoice_finalized adds the URL, its expiry, hash and size',
    async (context) => {
      const { finalized } = await context.once(approvedInvoice);
      requireNoComplaint(complaints(finalized.payload, LOCATION));
      return Object.keys(LOCATION).join(', ');
    },
  ),
  rule(
    '2.7',
    'no-file-elsewhere',
    'invoice_created and invoice_voided carry the fields of 2.6 only',
    async (context) => {
      const { created, voided } = await context.once(canceledInvoice);
      const known = (name: string) => name in PAYLOAD || /^[a-z]+(Invoice|Tenant)Id$/.test(name);
      const extra = [created, voided].flatMap(({ payload }) =>
        Object.keys(payload).filter((name) => !known(name)),
      );
      requireThat(extra.length === 0, `they carry ${extra.join(', ')}`);
      return 'no further fields';
    },
  ),
  rule('2.9', 'tenant-level-ids', 'A tenant-level event names the tenant by both ids', async (context) => {
    const { finalized, tenant } = await context.once(approvedInvoice);
    const id = tenantIdOf(finalized);
    const own = finalized.payload.partnerTenantId;
    requireThat(id === tenant?.tenantId && own === tenant?.partnerTenantId, `${id} and ${own}`);
    return `${id} and "${own}"`;
  }),
  rule('2.9', 'partner-level-ids', 'A partner-level event has null for both tenant ids', async (context) => {
    const { finalized } = await context.once(partnerInvoice);
    const values = [tenantIdOf(finalized), finalized.payload.partnerTenantId];
    requireThat(
      values.every((value) => value === null),
      JSON.stringify(values),
    );
    return 'null and null';
  }),
  statusRule('draft', 'invoice_created'),
  statusRule('finalized', 'invoice_finalized'),
  statusRule('voided', 'invoice_voided'),
  rule('6.2', 'schema-version', 'payloadSchemaVersion is v1', async (context) => {
    const { received } = await context.once(canceledInvoice);
    const versions = new Set(received.map(({ metadata }) => metadata.payloadSchemaVersion));
    requireThat(versions.size === 1 && versions.has('v1'), [...versions].join(', '));
    return 'v1';
  }),
];

function statusRule(status: string, eventType: string): Rule {
  return rule('6', `status-${status}`, `${eventType} carries invoiceStatus ${status}`, async (context) => {
    const { received } = await context.once(canceledInvoice);
    const one =
      received.find((candidate) => candidate.eventType === eventType) ?? breakRule(`no ${eventType} came`);
    requireThat(one.payload.invoiceStatus === status, String(one.payload.invoiceStatus));
    return status;
  });
}

async function shortLivedFinalized(context: SuiteContext): Promise<ReceivedRequest> {
  const { application } = context.shortLived;
  const { path } = await openEndpoint(context, { at: application });
  const { invoiceId } = await application.createInvoice({ shipments: 1 });
  await application.finalize(invoiceId);
  return receiveEvent(context, path, invoiceId, 'invoice_finalized');
}

function complaints(
  values: Readonly<Record<string, unknown>>,
  tests: Readonly<Record<string, Test>>,
): string[] {
  return Object.entries(tests)
    .filter(([name, test]) => !test(values[name]))
    .map(([name]) => `${name} is ${JSON.stringify(values[name]) ?? 'missing'}`);
}

function prefixesOf({ payload }: ReceivedRequest): { invoice: string | null; tenant: string | null } {
  const prefix = (suffix: string) => {
    const name = Object.keys(payload).find((key) => key.endsWith(suffix) && !key.startsWith('partner'));
    return name?.slice(0, -suffix.length) ?? null;
  };
  return { invoice: prefix('InvoiceId'), tenant: prefix('TenantId') };
}

/** Returns undefined when the payload has no field for the tenant's id. */
function tenantIdOf({ payload }: ReceivedRequest): unknown {
  const name = Object.keys(payload).find((key) => key.endsWith('TenantId') && !key.startsWith('partner'));
  return name === undefined ? undefined : payload[name];
}
