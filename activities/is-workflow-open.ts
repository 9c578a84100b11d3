/** Whether a workflow still runs: a batch of a backfill waits for its turn only while its parent can give it one. */

import { getClient } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { translated } from './failures.ts';

export function isWorkflowOpen() {
  return ({ workflowId }: { readonly workflowId: string }): Promise<boolean> =>
    translated(async () => {
      try {
        const { status } = await getClient().workflow.getHandle(workflowId).describe();
        return status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    });
}
