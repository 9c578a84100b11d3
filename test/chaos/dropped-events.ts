/** The service never sends three in ten of its finalized events: every invoice is loaded all the same, without a hand. */

import { createStory } from '../support/foreign-story.ts';
import { demandSound, playQuietly } from './quiet-story.ts';

export const summary = '30 % of finalized events are never sent (dropped-events [invoices] [seed])';

export async function main([count = '100', seed = '1']: readonly string[]): Promise<void> {
  const invoices = Number(count);
  let figures = '';
  const result = await playQuietly({
    settings: { BILLSYNC_OVERDUE_AFTER: '3s' },
    settledWithinMs: 240_000,
    async tell(service, webhookUrl) {
      const story = createStory({
        service,
        webhookUrl,
        invoices,
        seed: Number(seed),
        dropFinalized: 0.3,
        voided: 0,
      });
      await story.tell();
      const { dropped, rows } = story.figures();
      figures = `${invoices} invoices (${rows} rows), ${dropped} finalized events never sent`;
      return story.truth;
    },
  });
  console.log(
    `${figures}: all loaded ${result.secondsToSettle} s after the last delivery, ${result.violations.length} violations`,
  );
  demandSound(result);
}
