/** Looks whether a batch of a backfill is over: one that was terminated cannot say so itself. */

import { getClient } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { backfillBatch } from '../workflows/backfill-batch.ts';
import type { BackfillCounts } from '../workflows/backfill-messages.ts';
import { translated } from './failures.ts';

export type BatchEnd =
  | { readonly state: 'open' }
  | { readonly state: 'completed'; readonly counts: BackfillCounts }
  | { readonly state: 'broken-off' };

export function findBatchEnd() {
  return ({ workflowId }: { readonly workflowId: string }): Promise<BatchEnd> =>
    translated(async () => {
      const batch = getClient().workflow.getHandle<typeof backfillBatch>(workflowId);
      try {
        const { status } = await batch.describe();
        if (status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW') return { state: 'open' };
        if (status.name !== 'COMPLETED') return { state: 'broken-off' };
        const { counts } = await batch.result();
        return { state: 'completed', counts };
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return { state: 'broken-off' };
        throw error;
      }
    });
}
