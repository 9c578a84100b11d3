import type { RunningWorker } from '../../worker/start-worker.ts';
import { eventually } from '../support/eventually.ts';
import { addTo, differences, exact, type Sum } from '../support/published-data.ts';
import type { Rig } from './rig.ts';

/** By the service's own rows: invoice to number of rows and exact sum. */
function billed({ service }: Pick<Rig, 'service'>): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const { invoiceId, billingCost } of service.billedRows()) addTo(sums, invoiceId, billingCost);
  return sums;
}

async function loaded({ warehouse }: RunningWorker): Promise<ReadonlyMap<string, Sum>> {
  const invoices = await warehouse.invoices({ states: ['loaded'] });
  return new Map(
    invoices.map(({ invoiceId, shipments, billingCost }) => [
      invoiceId,
      { rows: shipments ?? 0, tenThousandths: exact(billingCost ?? '0') },
    ]),
  );
}

/** Resolves once all that was billed is loaded, row by row and to the fourth decimal, and nothing else is. */
export async function settled(rig: Rig, worker: RunningWorker): Promise<void> {
  await eventually(async () => differences(billed(rig), await loaded(worker)).length === 0);
}
