/** The invoice workflow as a later release might change it: a new first step, behind `patched` (CONTRIBUTING.md). */

import { patched, proxyLocalActivities } from '@temporalio/workflow';
import { invoice as unchanged } from '../../workflows/invoice.ts';
import type { InvoiceInput, InvoiceResult } from '../../workflows/messages.ts';

const { newStep } = proxyLocalActivities<{ newStep(): Promise<void> }>({ startToCloseTimeout: '1 s' });

export async function invoice(input: InvoiceInput): Promise<InvoiceResult> {
  if (patched('new-step')) await newStep();
  return unchanged(input);
}
