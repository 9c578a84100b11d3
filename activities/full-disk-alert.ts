/** Tells people while the disk has too little space for a file, though it need not be full: other files may well fit. */

import { isBillingError } from '../billing/errors.ts';
import { isWarehouseError } from '../warehouse/errors.ts';
import type { BillingDependencies } from './dependencies.ts';

const ALERT_KEY = 'disk/no-room';

/** Runs `work`, which writes a file; what fits after one did not takes the alert back. */
export async function alertingFullDisk<T>(
  { raise, resolve }: BillingDependencies['alerts'],
  work: () => Promise<T>,
): Promise<T> {
  try {
    const done = await work();
    resolve(ALERT_KEY);
    return done;
  } catch (error) {
    if (isBillingError(error, 'disk-full') || isWarehouseError(error, 'no-room')) {
      raise({
        key: ALERT_KEY,
        title: 'The disk has too little space for a file of an invoice',
        detail: `${error.message} Free some space; loading then continues automatically.`,
      });
    }
    throw error;
  }
}
