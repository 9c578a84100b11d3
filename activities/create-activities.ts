import type { BillingActivities, WarehouseActivities } from '../workflows/activities.ts';
import { createBackfillActivities } from './backfill.ts';
import type { BillingDependencies, WarehouseDependencies } from './dependencies.ts';
import { createInvoiceActivities } from './invoice-records.ts';
import { createLoadActivities } from './load.ts';
import { createReconcileActivities } from './reconcile.ts';
import { createServiceActivities } from './service-calls.ts';
import { createWarehouseWideActivities } from './warehouse.ts';

export function createBillingActivities(dependencies: BillingDependencies): BillingActivities {
  return {
    ...createServiceActivities(dependencies),
    ...createBackfillActivities(dependencies),
  };
}

export function createWarehouseActivities(dependencies: WarehouseDependencies): WarehouseActivities {
  return {
    ...createInvoiceActivities(dependencies),
    ...createLoadActivities(dependencies),
    ...createReconcileActivities(dependencies),
    ...createWarehouseWideActivities(dependencies),
  };
}
