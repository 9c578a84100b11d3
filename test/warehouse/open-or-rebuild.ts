/** Opens a warehouse as a worker does: a damaged file is rebuilt from the archive. */

import { isWarehouseError } from '../../warehouse/errors.ts';
import { openWarehouse, rebuildWarehouse } from '../../warehouse/open-warehouse.ts';
import type { OpenWarehouseOptions } from '../../warehouse/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';

export async function openOrRebuild(
  options: OpenWarehouseOptions,
): Promise<{ readonly warehouse: Warehouse; readonly wasDamaged: boolean }> {
  try {
    return { warehouse: await openWarehouse(options), wasDamaged: false };
  } catch (error) {
    if (!isWarehouseError(error, 'warehouse-corrupt')) throw error;
    await rebuildWarehouse(options);
    return { warehouse: await openWarehouse(options), wasDamaged: true };
  }
}
