/** Keeps refused files in quarantine until another file of their invoice is loaded. */

import type { Quarantine } from '../../lib/quarantine.ts';
import type { Rejection } from '../../lib/warehouse-requests.ts';
import { cellAdvice } from '../../lib/wire/csv-file.ts';
import { CRASH_RULE } from '../load/rejections.ts';

export interface RefusedFile {
  readonly invoiceId: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly eventId: string | null;
}

export async function holdRefused(
  quarantine: Quarantine,
  { invoiceId, sha256, sizeBytes, eventId }: RefusedFile,
  rejected: Omit<Rejection, 'outcome'> & { readonly at: string },
): Promise<void> {
  const refused = await quarantine.list();
  if (refused.some((item) => item.sha256 === sha256 && item.invoiceId === invoiceId)) return;
  const { findings, findingCount, at } = rejected;
  const reason = rejection(rejected);
  await quarantine.put({
    ...{ kind: 'file', at, code: 'csv-rejected', reason, invoiceId, eventId, sha256, sizeBytes },
    ...{ findings, findingCount },
  });
}

export async function releaseRefused(quarantine: Quarantine, invoiceId: string): Promise<void> {
  for (const item of await quarantine.list()) {
    if (item.kind === 'file' && item.invoiceId === invoiceId) await quarantine.remove(item.quarantineId);
  }
}

export function rejection({
  findings,
  findingCount,
  isCutOff = false,
  neededTolerances = [],
}: Omit<Rejection, 'outcome'>): string {
  const [first] = findings;
  if (first === undefined) return 'The file breaks a rule of the CSV format.';
  if (first.rule === CRASH_RULE) {
    return `The file is not loaded any more: ${first.value}. It is kept in quarantine; the log shows what ended the process. \`billsync invoices retry\` tries it again, after an update or with more memory.`;
  }
  const place = [
    ...(first.line === null ? [] : [`line ${first.line}`]),
    ...(first.column === null ? [] : [`column ${first.column}`]),
  ].join(', ');
  const more = findingCount > 1 ? ` ${isCutOff ? 'At least ' : ''}${findingCount - 1} further findings.` : '';
  return `The file breaks the rule "${first.rule}"${place === '' ? '' : ` at ${place}`}: ${first.value}.${more} It is kept in quarantine; nothing of it was loaded.${toleranceAdvice(neededTolerances) || cellSentence(findings)} A new file or event, \`billsync import\` or \`billsync invoices retry\` tries again.`;
}

function cellSentence(findings: Rejection['findings']): string {
  const advice = cellAdvice(findings);
  return advice === null ? '' : ` ${advice}.`;
}

export function toleranceAdvice(neededTolerances: NonNullable<Rejection['neededTolerances']>): string {
  if (neededTolerances.length === 0) return '';
  return ` If the service intends this form, BILLSYNC_CSV_TOLERATE with ${neededTolerances.join(',')} accepts it.`;
}
