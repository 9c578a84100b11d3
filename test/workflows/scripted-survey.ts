import { createBackfillActivities } from '../../activities/backfill.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { BillingError, unreachable } from '../../billing/errors.ts';
import type { LedgerStatus } from '../../lib/warehouse-requests.ts';
import type { World } from './scripted-world.ts';

const NO_ALERTS = { raise: () => undefined, resolve: () => undefined, close: async () => undefined };

type WorldOf = (invoiceId: string) => World;

export function backfillActivitiesOf(worldOf: WorldOf) {
  const service: Pick<BillingService, 'lookUpInvoice' | 'regenerateUrl'> = {
    async lookUpInvoice(invoiceId) {
      const answer = await worldOf(invoiceId).activities.lookUpInvoice({ invoiceId }).catch(asOfBilling);
      if (answer.outcome === 'not-found') throw new BillingError('unknown-invoice', [invoiceId]);
      return { ...answer, unknownStatus: answer.unknownStatus ?? null };
    },
    async regenerateUrl(invoiceId) {
      const answer = await worldOf(invoiceId).activities.regenerateUrl({ invoiceId }).catch(asOfBilling);
      if (answer.outcome === 'location') return answer.location;
      if (answer.outcome === 'not-exported') throw new BillingError('not-exported', [invoiceId]);
      throw new BillingError('refused', ['regenerate', 'HTTP 400']);
    },
  };
  return createBackfillActivities({ service: service as BillingService, alerts: NO_ALERTS });
}

export function ledgerStatusesOf(worldOf: WorldOf) {
  return {
    async readLedgerStatuses({ invoiceIds }: { readonly invoiceIds: readonly string[] }) {
      return invoiceIds.flatMap((invoiceId): LedgerStatus[] => {
        const state = worldOf(invoiceId).ledger.get(invoiceId)?.state;
        if (state === undefined) return [];
        const stated = { statedTotal: '12.50', statedShipments: 2, billingCost: '12.5000', shipments: 2 };
        return [{ invoiceId, state, ...stated, isUnanswered: false }];
      });
    },
  };
}

/** A world throws the failures of activities; a survey receives the errors of the service. */
function asOfBilling(error: unknown): never {
  const type = error instanceof Error && 'type' in error ? error.type : null;
  if (type === 'unreachable') throw unreachable('service.test', null, error);
  if (type === 'server-fault') throw new BillingError('server-fault', ['details', 'HTTP 500']);
  throw error;
}
