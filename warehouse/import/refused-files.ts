/** Keeps the files that were refused in quarantine, whoever brought them, until another one of their invoice is loaded. */

import { cellAdvice } from '../../lib/wire/csv-file.ts';
import type { Quarantine } from '../../lib/wire/quarantine.ts';
import { CRASH_RULE } from '../invoice-loads.ts';
import type { Rejection } from '../warehouse.ts';

export interface RefusedFile {
  readonly invoiceId: string;
  /** Its bytes lie in the archive. */
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly eventId: string | null;
}

/** A file that is held already is not held twice. */
export async function holdRefused(
  quarantine: Quarantine,
  { invoiceId, sha256, sizeBytes, eventId }: RefusedFile,
  rejected: Omit<Rejection, 'outcome'> & { readonly at: string },
): Promise<void> {
  const held = await quarantine.list();
  if (held.some((thing) => thing.sha256 === sha256 && thing.invoiceId === invoiceId)) return;
  const { findings, findingCount, at } = rejected;
  const reason = rejection(rejected);
  await quarantine.put({
    ...{ kind: 'file', at, code: 'csv-rejected', reason, invoiceId, eventId, sha256, sizeBytes },
    ...{ findings, findingCount },
  });
}

/** After a load: what was refused of the invoice before needs nobody any more. */
export async function releaseRefused(quarantine: Quarantine, invoiceId: string): Promise<void> {
  for (const thing of await quarantine.list()) {
    if (thing.kind === 'file' && thing.invoiceId === invoiceId) await quarantine.remove(thing.quarantineId);
  }
}

/** What a person reads: which rule, where, and what to do. */
export function rejection({
  findings,
  findingCount,
  isCutOff = false,
  wants = [],
}: Omit<Rejection, 'outcome'>): string {
  const [first] = findings;
  if (first === undefined) return 'The file breaks a rule of the CSV format.';
  if (first.rule === CRASH_RULE) {
    return `The file is not loaded any more: ${first.value}. It is kept in quarantine for whoever looks into it; the log says what ended the process. \`billsync invoices retry\` tries it again, after an update or with more memory.`;
  }
  const place = [
    ...(first.line === null ? [] : [`line ${first.line}`]),
    ...(first.column === null ? [] : [`column ${first.column}`]),
  ].join(', ');
  const more = findingCount > 1 ? ` ${isCutOff ? 'At least ' : ''}${findingCount - 1} further findings.` : '';
  return `The file breaks the rule "${first.rule}"${place === '' ? '' : ` at ${place}`}: ${first.value}.${more} It is kept in quarantine; nothing of it was loaded.${toleranceAdvice(wants) || cellSentence(findings)} A new file or event, \`billsync import\` or \`billsync invoices retry\` tries again.`;
}

function cellSentence(findings: Rejection['findings']): string {
  const advice = cellAdvice(findings);
  return advice === null ? '' : ` ${advice}.`;
}

/** Which setting accepts such a file, as a sentence with a blank before it; empty when none does. */
export function toleranceAdvice(wants: NonNullable<Rejection['wants']>): string {
  if (wants.length === 0) return '';
  return ` If the service means its files to be so, BILLSYNC_CSV_TOLERATE with ${wants.join(',')} accepts it.`;
}
