/** Loads an archived file into the warehouse, in one transaction, and quarantines it when it breaks a rule. */

import { heartbeat } from '@temporalio/activity';
import type { CsvFinding } from '../contract/csv-file.js';
import type { Discrepancy, LoadOutcome, LoadRequest } from '../warehouse/warehouse.js';
import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { attentionKey } from './park-invoice.js';

export type LoadInvoiceResult =
  | { readonly outcome: 'loaded' | 'already_loaded'; readonly shipments: number }
  | { readonly outcome: 'voided' }
  /** Nothing was loaded; `reason` says which line, column and rule. */
  | { readonly outcome: 'rejected' | 'contradicted'; readonly reason: string };

const HEARTBEAT_MS = 5_000;

/**
 * Cancellation is deliberately not listened to: a commit in progress ends first, and the void that cancelled comes
 * after it. A load that has not begun to commit sees the void inside its transaction.
 */
export function loadInvoice({ warehouse, quarantine, alerts, now }: WarehouseDependencies) {
  return (request: LoadRequest): Promise<LoadInvoiceResult> =>
    translated(async () => {
      const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
      try {
        const outcome = await warehouse.load(request);
        if (outcome.outcome === 'rejected') await quarantineFile(request, outcome);
        const result = summary(outcome);
        if ('shipments' in result) await settle(request.invoiceId);
        return result;
      } finally {
        clearInterval(beat);
      }
    });

  /** A file that was refused leaves quarantine once another one of the invoice is loaded. */
  async function settle(invoiceId: string): Promise<void> {
    alerts.resolve(attentionKey(invoiceId));
    for (const thing of await quarantine.list()) {
      if (thing.kind === 'file' && thing.invoiceId === invoiceId) await quarantine.remove(thing.quarantineId);
    }
  }

  async function quarantineFile(
    { invoiceId, sha256, eventId }: LoadRequest,
    { findings, findingCount }: Extract<LoadOutcome, { outcome: 'rejected' }>,
  ): Promise<void> {
    const held = await quarantine.list();
    if (held.some((thing) => thing.sha256 === sha256 && thing.invoiceId === invoiceId)) return;
    const reason = rejection(findings, findingCount);
    const at = now().toISOString();
    await quarantine.put({
      ...{ kind: 'file', at, code: 'csv-rejected', reason, invoiceId, eventId, sha256 },
      ...{ findings, findingCount },
    });
  }
}

function summary(outcome: LoadOutcome): LoadInvoiceResult {
  switch (outcome.outcome) {
    case 'loaded':
    case 'already_loaded':
      return { outcome: outcome.outcome, shipments: outcome.shipments };
    case 'voided':
      return { outcome: 'voided' };
    case 'rejected':
      return { outcome: 'rejected', reason: rejection(outcome.findings, outcome.findingCount) };
    case 'contradicted':
      return { outcome: 'contradicted', reason: contradiction(outcome.discrepancies) };
  }
}

function rejection(findings: readonly CsvFinding[], count: number): string {
  const [first] = findings;
  if (first === undefined) return 'The file breaks a rule of the CSV format.';
  const place = [
    ...(first.line === null ? [] : [`line ${first.line}`]),
    ...(first.column === null ? [] : [`column ${first.column}`]),
  ].join(', ');
  const more = count > 1 ? ` ${count - 1} further findings.` : '';
  return `The file breaks the rule "${first.rule}"${place === '' ? '' : ` at ${place}`}: ${first.value}.${more} It is kept in quarantine; nothing of it was loaded. A new file or event, or \`billsync invoices retry\`, tries again.`;
}

function contradiction(discrepancies: readonly Discrepancy[]): string {
  const list = discrepancies.map(({ rule, stated, found }) => `${rule} ${stated} stated, ${found} found`);
  return `The exported file has no announced hash and contradicts the invoice's header (${list.join('; ')}). Nothing was loaded. Once the service's file or its figures are corrected, a new event or \`billsync invoices retry\` tries again; \`billsync import\` takes a file from a person.`;
}
