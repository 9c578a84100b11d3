/** What a decision of a person would come to, checked on the published copy: nobody's lock is taken, nothing is written. */

import { tmpdir } from 'node:os';
import { openForReading } from '../lake/lake-source.ts';
import { checkDecision } from '../ledger/decide.ts';
import { readInvoiceLines } from '../ledger/invoice-states.ts';
import type { Decided, Decision } from '../warehouse.ts';

export async function dryRunDecision(publishedPath: string, asked: Decision): Promise<Decided> {
  const invoiceId = asked.invoiceId.toLowerCase();
  const database = await openForReading(publishedPath, tmpdir());
  try {
    const lines = await database.use((session) => readInvoiceLines(session, [invoiceId]));
    const now = new Date().toISOString();
    return checkDecision({ ...asked, invoiceId }, lines.get(invoiceId), now).decided;
  } finally {
    database.close();
  }
}
