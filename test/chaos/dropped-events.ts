/** The service never sends three in ten of its finalized events: every invoice is loaded without an operator's action. */

import { createTraffic } from '../support/billing-traffic.ts';
import { describeVerdict, expectNone, runUndisturbed } from './rig.ts';

export const summary = '30 % of finalized events are never sent (dropped-events [invoices] [seed])';

export async function main([count = '100', seed = '1']: readonly string[]): Promise<void> {
  const invoices = Number(count);
  let counts = '';
  const result = await runUndisturbed({
    overdueAfter: '3s',
    async sendEvents({ service, product: { webhookUrl } }) {
      const options = { service, webhookUrl, invoices, seed: Number(seed) };
      const traffic = createTraffic({ ...options, dropFinalized: 0.3, voided: 0 });
      await traffic.run();
      const { dropped, rows } = traffic.counts();
      counts = `${invoices} invoices (${rows} rows), ${dropped} finalized events never sent`;
      return traffic.truth;
    },
  });
  console.log(
    `${counts}: all loaded ${result.secondsToSettle} s after the last delivery, ${result.violations.length} violations`,
  );
  expectNone(describeVerdict(result));
}
