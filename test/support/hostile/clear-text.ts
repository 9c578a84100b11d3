/** A stranger who reaches Temporal's port and has no key: says something to an invoice in clear text. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import type { EmbeddedRecord } from '../../../lib/temporal/connect.ts';
import { openConnection } from '../../../lib/temporal/connect.ts';
import { invoiceWorkflowId, taskQueues } from '../../../lib/wire/names.ts';

/** Starts the invoice's workflow when none runs, as `signalWithStart` does. */
export async function signalInClearText(
  dataDir: string,
  invoice: { readonly partnerId: string; readonly invoiceId: string },
  signalArgs: readonly unknown[],
): Promise<void> {
  const record = await readFile(join(dataDir, 'run', 'temporal.json'), 'utf8');
  const connection = await openConnection({ address: (JSON.parse(record) as EmbeddedRecord).address });
  try {
    await new Client({ connection }).workflow.signalWithStart('invoice', {
      workflowId: invoiceWorkflowId({ environment: 'test', ...invoice }),
      taskQueue: taskQueues('test').billing,
      args: [{ environment: 'test', ...invoice }],
      signal: 'invoiceEvent',
      signalArgs: [...signalArgs],
    });
  } finally {
    await connection.close();
  }
}
