/**
 * Says who holds the warehouse. DuckDB locks its file as well, but it cannot say for whom, and closing a second handle in the
 * same process drops that lock.
 */

import { type LockFile, type LockRequest, takeLock } from '../../lib/files/lock-file.ts';
import { WarehouseLockedError } from '../errors.ts';

/** @throws WarehouseLockedError a living process has it */
export function lockWarehouse(path: string, request: Omit<LockRequest, 'refusal'>): Promise<LockFile> {
  return takeLock(path, { ...request, refusal: (of, owner) => new WarehouseLockedError(of, owner) });
}
