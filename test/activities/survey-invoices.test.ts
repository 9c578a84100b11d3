import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, test } from 'vitest';
import { checkDetails, checkLedger, createBackfillActivities } from '../../activities/backfill.ts';
import type { BillingService, InvoiceDetails } from '../../billing/billing-service.ts';
import { BillingError, tryLater, unreachable } from '../../billing/errors.ts';
import type { LedgerStatus } from '../../lib/warehouse-requests.ts';
import type { Finding } from '../../workflows/activities.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

const ledger = (overrides: Partial<LedgerStatus> = {}): LedgerStatus => ({
  ...{ invoiceId: randomUUID(), state: 'loaded', statedTotal: '10.50', statedShipments: 2 },
  ...{ billingCost: '10.5000', shipments: 2, isUnanswered: false },
  ...overrides,
});
const details = (
  status: InvoiceDetails['status'],
  header: InvoiceDetails['header'] = {},
): InvoiceDetails => ({
  unknownStatus: null,
  status,
  header,
});

describe('checkLedger', () => {
  test.each<[LedgerStatus | null, Finding | null]>([
    [null, null],
    [ledger(), null],
    [ledger({ state: 'voided' }), 'voided'],
    [ledger({ state: 'draft' }), 'work'],
    [ledger({ state: 'finalized' }), 'work'],
    [ledger({ state: 'needs_attention' }), 'work'],
  ])('needs the service only for an invoice that is unknown or loaded (%#)', (known, finding) => {
    expect(checkLedger(known)).toBe(finding);
  });
});

describe('checkDetails', () => {
  test.each<[string, LedgerStatus | null, InvoiceDetails | null, Finding]>([
    ['unknown to both', null, null, 'unknown'],
    ['known to the service only', null, details('finalized'), 'work'],
    ['a draft', null, details('draft'), 'work'],
    ['loaded as stated', ledger(), details('finalized', { invoiceTotalAmount: '10.5' }), 'loaded'],
    ['loaded, without a status', ledger(), details(null), 'loaded'],
    ['loaded, and voided', ledger(), details('voided'), 'work'],
    ['loaded, and a draft', ledger(), details('pending'), 'work'],
    ['loaded, and not found', ledger(), null, 'loaded'],
    [
      'loaded, after requests without an answer',
      ledger({ isUnanswered: true }),
      details('finalized'),
      'work',
    ],
    ['another total', ledger(), details('finalized', { invoiceTotalAmount: '10.51' }), 'file-in-doubt'],
    ['another count', ledger(), details('finalized', { totalTransactionCount: 3 }), 'file-in-doubt'],
    [
      'a known discrepancy',
      ledger({ statedTotal: '10.51', statedShipments: 3 }),
      details('finalized', { invoiceTotalAmount: '10.51', totalTransactionCount: 3 }),
      'loaded',
    ],
    [
      'a file without stated totals',
      ledger({ statedTotal: null, statedShipments: null }),
      details('finalized', { invoiceTotalAmount: '10.50', totalTransactionCount: 2 }),
      'loaded',
    ],
  ])('%s', (_, known, answer, finding) => {
    expect(checkDetails(known, answer)).toBe(finding);
  });
});

/** A service that knows no invoice, unless `lookUp` throws another error; `requested` lists the ids in order. */
function aService(lookUp: (invoiceId: string, times: number) => void = () => {}) {
  const requested: string[] = [];
  const service = {
    async lookUpInvoice(invoiceId: string) {
      requested.push(invoiceId);
      lookUp(invoiceId, requested.filter((id) => id === invoiceId).length);
      throw new BillingError('unknown-invoice', [invoiceId]);
    },
    async regenerateUrl(invoiceId: string) {
      throw new BillingError('not-exported', [invoiceId]);
    },
  };
  const { alerts, calls } = memoryAlerts();
  return {
    ...{ requested, calls },
    survey: createBackfillActivities({ service: service as unknown as BillingService, alerts })
      .surveyInvoices,
  };
}

const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

describe('surveyInvoices', () => {
  test('continues where the last attempt ended', async () => {
    const invoiceIds = ids(6);
    const last = invoiceIds[5];
    const broken = aService((invoiceId) => {
      if (invoiceId === last) throw unreachable('service.test', 'ECONNREFUSED', null);
    });
    const first = new MockActivityEnvironment();
    let heartbeatDetails: unknown;
    first.on('heartbeat', (details: unknown) => {
      heartbeatDetails = details;
    });
    const request = { invoiceIds, ledgerStatuses: [], concurrency: 1 };
    await expect(first.run(broken.survey, request)).rejects.toMatchObject({ code: 'unreachable' });
    expect(broken.requested).toEqual(invoiceIds);

    const sound = aService();
    const second = new MockActivityEnvironment({ heartbeatDetails });
    expect(await second.run(sound.survey, request)).toEqual(invoiceIds.map(() => 'unknown'));
    expect(sound.requested).toEqual([last]);
  });

  test('reports refused credentials and their end', async () => {
    const refused = () => {
      throw new BillingError('credentials-refused', ['a fresh access token', 'HTTP 401']);
    };
    const request = { invoiceIds: ids(1), ledgerStatuses: [], concurrency: 1 };
    const { survey, calls } = aService(refused);
    await expect(new MockActivityEnvironment().run(survey, request)).rejects.toMatchObject({
      code: 'credentials-refused',
    });
    expect(calls).toEqual(['raised credentials']);
    const sound = aService();
    await new MockActivityEnvironment().run(sound.survey, request);
    expect(sound.calls).toEqual(['resolved credentials']);
  });

  test('waits as long as an overloaded service requests', async () => {
    const invoiceIds = ids(4);
    const { requested, survey } = aService((invoiceId, times) => {
      if (invoiceId === invoiceIds[1] && times < 3) throw tryLater('details', 429, 0.3);
    });
    const began = performance.now();
    const request = { invoiceIds, ledgerStatuses: [], concurrency: 2 };
    expect(await new MockActivityEnvironment().run(survey, request)).toEqual(invoiceIds.map(() => 'unknown'));
    expect(performance.now() - began).toBeGreaterThan(550);
    expect(requested.filter((id) => id === invoiceIds[1])).toHaveLength(3);
  });

  test('stops when it is cancelled', async () => {
    const { requested, survey } = aService(() => {
      throw tryLater('details', 503, 60);
    });
    const environment = new MockActivityEnvironment();
    const running = environment.run(survey, { invoiceIds: ids(3), ledgerStatuses: [], concurrency: 1 });
    setTimeout(() => environment.cancel(), 50);
    await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(requested).toHaveLength(1);
  });
});
