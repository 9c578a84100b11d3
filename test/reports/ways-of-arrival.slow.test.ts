/**
 * The same invoices, once announced by events, once only asked for (backfill), once by both while no token named the partner, and
 * once only imported: the same figures everywhere.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { FINDINGS, type FindingName } from '../../finance/disputes/finding-kinds.ts';
import { findLines } from '../../finance/disputes/findings.ts';
import { makeStatements } from '../../finance/statements/make-statements.ts';
import type { InvoiceHeader } from '../../lib/wire/invoice-event.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { runJson } from '../support/published-data.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  type Cells,
  loadCsv,
  sha256,
  type TestWarehouse,
} from '../warehouse/support.ts';

const PARTNER = '99999999-9999-4999-8999-999999999999';
const WAYS = ['events', 'backfill', 'both', 'import'] as const;
const WHOLE = ['backfill', 'both'] as const;
type Way = (typeof WAYS)[number];

const id = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** Months of two tenants, with a second charge, a draft, and an invoice that is voided and billed again. */
const INVOICES = [1, 2, 3, 4, 5, 6].flatMap((month) =>
  (['Acme', 'Beta'] as const).map((tenant, at) => {
    const of = `2026-0${month}`;
    const number = month * 10 + at;
    const rows: Cells[] = Array.from({ length: 9 }, (_, line) => ({
      Tenant: tenant,
      'Invoice Generation Date': `${of}-28`,
      'Ship Date': `${of}-1${line}`,
      'Carrier Invoice Date': `${of}-20`,
      'Tracking Number': `${tenant}-${month}-${line === 8 ? 7 : line}`,
      'Billing Cost': line > 6 ? '80.25' : `${10 + line}.5`,
    }));
    const header: Partial<InvoiceHeader> = {
      ...{ invoiceId: id(number), invoiceNumber: `${tenant}-${100 + month}` },
      ...{ tenantId: id(900 + at), partnerTenantId: tenant.toLowerCase() },
      ...{ invoiceStartDate: `${of}-01T00:00:00Z`, invoiceEndDate: `${of}-28T00:00:00Z` },
      ...{ invoiceDate: `${of}-28T00:00:00Z`, invoiceDueDate: `2026-0${month + 1}-15T00:00:00Z` },
      ...{ invoiceTotalAmount: '255', totalTransactionCount: 9, currencyCode: 'USD' },
    };
    const state = month === 6 && at === 1 ? 'draft' : month === 5 && at === 1 ? 'voided' : 'finalized';
    return { id: id(number), header, state, bytes: aCsv(rows, id(number)) } as const;
  }),
);

async function arrive(t: TestWarehouse, chosen: Way): Promise<void> {
  for (const [at, { id: invoiceId, header, state, bytes }] of INVOICES.entries()) {
    const way = chosen !== 'both' ? chosen : at % 3 === 1 ? 'backfill' : 'events';
    const partnerId = chosen === 'both' ? null : PARTNER;
    const status = state === 'draft' ? 'draft' : 'finalized';
    if (way === 'import' && state !== 'finalized') continue;
    const [fileHashSha256, fileSizeBytes] = [sha256(bytes), bytes.length];
    const event = status === 'draft' ? 'invoice_created' : 'invoice_finalized';
    if (way === 'events') await t.record([anEvent(event, { header, fileHashSha256, fileSizeBytes })]);
    if (way === 'backfill') await t.warehouse.recordDetails({ invoiceId, status, partnerId, header });
    if (state === 'draft') continue;
    if (way === 'backfill')
      await t.warehouse.recordHash({ invoiceId, sha256: sha256(bytes), sizeBytes: bytes.length });
    const source = { events: 'event', backfill: 'regenerate', import: 'file' } as const;
    await loadCsv(t, bytes, {
      ...{ invoiceId, source: source[way] },
      ...(way === 'import' ? { announcedSha256: null } : {}),
    });
    if (state === 'voided') await t.warehouse.voidInvoice(invoiceId);
  }
}

const at = {} as Record<Way, { readonly t: TestWarehouse; readonly path: string }>;
beforeAll(async () => {
  for (const way of WAYS) {
    const t = await aWarehouse();
    await arrive(t, way);
    at[way] = { t, path: (await t.warehouse.publish()).path };
  }
});
afterAll(() => Promise.all(WAYS.map((way) => at[way].t.close())));

/** Columns that state how and when an invoice arrived, or what an import does not know. */
const OF_ARRIVAL = /(^proof$|^verdict$|_at|_since|_in_state|^age|^is_stuck|file_source|version)$/;
const UNKNOWN_TO_IMPORTS =
  /(_id|_number|_numbers|number|_date|level|due|^tenant|stated|difference|proof|verdict|grade|^total|usual|percent|open|cash|not_|invoice_|state)/;

function comparable(rows: readonly ReportRow[], without: RegExp): readonly string[] {
  return rows
    .map((row) => JSON.stringify(Object.entries(row).filter(([name]) => !without.test(name))))
    .sort();
}

async function statementsAt(way: Way) {
  const made: unknown[] = [];
  const { path, t } = at[way];
  const sources = {
    databasePath: path,
    dataDir: t.dataDir,
    timeLimitMs: 60_000,
    now: new Date('2026-08-01'),
  };
  const request = { tenants: [], partners: [], period: '2026-03', isFinal: false, withShipments: true };
  await makeStatements(sources, request, async ({ statement: { tenant, billed, totals, invoices } }) => {
    const numbers = invoices.map(({ invoice_id, amount }) => [invoice_id, amount]);
    made.push({ tenant, billed, totals, invoices: numbers });
  });
  return made;
}

test('statements have the same amounts', async () => {
  const events = await statementsAt('events');
  expect(events).toHaveLength(2);
  for (const way of WAYS) expect(await statementsAt(way)).toEqual(events);
});

test.each(Object.keys(FINDINGS) as FindingName[])('%s finds the same lines to claim', async (finding) => {
  const linesAt = async (way: Way) => {
    const request = { databasePath: at[way].path, finding, rows: null, trackingNumbers: null };
    const { lines } = await findLines(request);
    return lines.map(({ invoice_id, row_number, claimed, tenant }) => [
      invoice_id,
      row_number,
      claimed,
      tenant,
    ]);
  };
  const events = await linesAt('events');
  for (const way of WAYS) expect(await linesAt(way)).toEqual(events);
});

test('lists have the same invoices and shipments', async () => {
  for (const [args, without] of [
    [['invoices', 'list'], OF_ARRIVAL],
    [['shipments', '--limit', '500', '--format', 'json'], OF_ARRIVAL],
    [
      ['shipments', '--tenant', 'Acme', '--columns', 'billing_cost,tracking_number', '--format', 'json'],
      UNKNOWN_TO_IMPORTS,
    ],
  ] as const) {
    const rowsAt = async (way: Way) =>
      comparable(await runJson(args, { BILLSYNC_DATA_DIR: at[way].t.dataDir }), without);
    const events = await rowsAt('events');
    expect(events.length).toBeGreaterThan(0);
    for (const way of WHOLE) expect(await rowsAt(way), args.join(' ')).toEqual(events);
    if (without === UNKNOWN_TO_IMPORTS) expect(await rowsAt('import'), args.join(' ')).toEqual(events);
  }
});
