/** What became of files that were imported, for people and for programs. */

import { cellAdvice } from '../../../lib/wire/csv-file.ts';
import { SPREADSHEET_RULE } from '../../../lib/wire/spreadsheet-damage.ts';
import type { Imported } from '../../../warehouse/import/import-files.ts';
import type { Rejection } from '../../../warehouse/warehouse.ts';
import { CliError, EXIT } from '../../errors.ts';
import { counted, type Output } from '../../terminal/output.ts';
import { printable } from '../../terminal/terminal-text.ts';

/** @throws CliError (exit 7) when any was refused, after all were told of */
export function printImported(output: Output, paths: readonly string[], imported: readonly Imported[]): void {
  const rows = imported.map((one, index) => ({ file: paths[index] ?? '', ...asJson(one) }));
  output.rows(rows, [
    { title: 'file', value: ({ file }) => file },
    { title: 'invoice', value: ({ invoice_id }) => invoice_id },
    { title: 'outcome', value: ({ outcome }) => outcome },
    { title: 'shipments', value: ({ shipments }) => shipments, align: 'right' },
    { title: 'billing cost', value: ({ billing_cost }) => billing_cost, align: 'right' },
    { title: 'proof', value: ({ proof }) => proof },
  ]);
  for (const { file, why, outcome } of rows) {
    if (outcome === 'already_loaded' && why !== null)
      output.note(`${printable(file)}: already loaded; ${why}.`);
  }
  const refused = rows.filter(({ outcome }) => !['loaded', 'already_loaded', 'checked'].includes(outcome));
  if (refused.length === 0) return;
  const isKept = refused.some(({ outcome }) => outcome === 'outranked');
  const what = `${refused.length} of ${counted(rows.length, 'file')} ${isKept ? 'refused' : 'not loaded'}`;
  throw new CliError(EXIT.rejected, what, {
    subject: refused
      .map(({ file, outcome, why }) => `${printable(file)}: ${outcome}${why === null ? '' : `, ${why}`}`)
      .join('; '),
    hint: `nothing of a refused file ${isKept ? 'counts' : 'is loaded'}; ${adviceFor(refused)}`,
  });
}

/** What a person can do about it, by what most likely happened to the file. */
function adviceFor(refused: readonly Printed[]): string {
  const neededTolerances = new Set(refused.flatMap(({ needed_tolerances: needed }) => needed));
  if (neededTolerances.size > 0) {
    return `if the service intends this form, BILLSYNC_CSV_TOLERATE with ${[...neededTolerances].join(',')} accepts them; --json lists the findings`;
  }
  if (refused.some(({ outcome }) => outcome === 'outranked'))
    return "`billsync backfill ID` fetches the service's own file";
  const rules = new Set(refused.flatMap(({ findings }) => findings.map(({ rule }) => rule)));
  if (rules.has(SPREADSHEET_RULE))
    return 'download the file again and do not save it from a spreadsheet; --accept-spreadsheet loads it as it is';
  if (rules.has('format')) return 'import the CSV itself, as it was downloaded';
  if (rules.size === 0) return '--json lists what contradicts';
  if (rules.has('no-final-line-end')) return 'it may be cut off: export it again and import it whole';
  if (rules.has('invoice-id') && rules.size === 1)
    return 'a file holds the rows of one invoice; --invoice says which, when its first row does not';
  const advice = cellAdvice(refused.flatMap(({ findings }) => findings));
  const unchanged = advice === null ? '' : `if it came so, ${advice}; `;
  return `export it again and import it as it comes, not saved by a spreadsheet; ${unchanged}--json lists the findings`;
}

function asJson({ invoiceId, sha256, sizeBytes, records, outcome }: Imported) {
  const loaded = 'shipments' in outcome ? outcome : null;
  const refused: Omit<Rejection, 'outcome'> = outcome.outcome === 'rejected' ? outcome : NO_FINDINGS;
  const { findings, findingCount, isCutOff = false, neededTolerances = [] } = refused;
  const discrepancies = 'discrepancies' in outcome ? outcome.discrepancies : [];
  return {
    invoice_id: invoiceId,
    outcome: loaded !== null && loaded.outrankedBy !== null ? 'outranked' : outcome.outcome,
    file_sha256: sha256,
    file_size_bytes: sizeBytes,
    records,
    shipments: loaded?.shipments ?? null,
    billing_cost: loaded?.billingCost ?? null,
    currency_code: loaded?.currencyCode ?? null,
    proof: loaded === null || loaded.outrankedBy !== null ? null : loaded.proof,
    version: 'version' in outcome ? outcome.version : null,
    why: whyNotLoaded(outcome, { invoiceId, sha256 }),
    findings,
    finding_count: findingCount,
    findings_cut_off: isCutOff,
    needed_tolerances: neededTolerances,
    discrepancies,
    counting_version: countingVersion(outcome),
    counting_sha256: loaded?.outrankedBy?.sha256 ?? null,
  };
}

const NO_FINDINGS = { findings: [], findingCount: 0 };
type Printed = ReturnType<typeof asJson>;

/** In a person's words; null when there is nothing to add. */
export function whyNotLoaded(
  outcome: Imported['outcome'],
  of: Pick<Imported, 'invoiceId' | 'sha256'>,
): string | null {
  if ('shipments' in outcome && outcome.outrankedBy !== null) return whyOutranked(outcome, of);
  switch (outcome.outcome) {
    case 'rejected': {
      const [first] = outcome.findings;
      if (first === undefined) return null;
      const place = [first.line === null ? null : `line ${first.line}`, first.column].filter(
        (part) => part !== null,
      );
      const atLeast = outcome.isCutOff === true ? 'at least ' : '';
      const more = outcome.findingCount > 1 ? `, and ${atLeast}${outcome.findingCount - 1} more` : '';
      return printable([...place, `rule ${first.rule}`, `value "${first.value}"`].join(', ')) + more;
    }
    case 'contradicted':
      return outcome.discrepancies
        .map(({ rule, stated, found }) => `${rule}: stated ${stated}, found ${found}`)
        .join(', ');
    case 'already_loaded': {
      const { version, countingVersion } = outcome;
      return version === countingVersion
        ? null
        : `it is version ${version}, and version ${countingVersion} counts; ${useVersion(of.invoiceId, version)}`;
    }
    case 'voided':
      return 'the invoice is voided';
    default:
      return null;
  }
}

/** Both hashes, and the command that has the file count all the same. */
function whyOutranked(
  outcome: Extract<Imported['outcome'], { readonly shipments: number }>,
  { invoiceId, sha256 }: Pick<Imported, 'invoiceId' | 'sha256'>,
): string {
  const by = outcome.outrankedBy;
  if (by === null) return '';
  const { version, proof } = by;
  const counts = `version ${version} counts`;
  const what = {
    chosen: `${counts} because a person chose it, its hash is ${by.sha256}`,
    announced: `${version === null ? '' : `${counts}, `}the hash ${by.sha256} was announced`,
    asked: `${version === null ? '' : `${counts}, `}the service names the hash ${by.sha256}`,
    none: `${counts}, its hash is ${by.sha256}`,
  }[proof];
  const kept =
    'version' in outcome
      ? `; it is kept as version ${outcome.version}, ${useVersion(invoiceId, outcome.version)}`
      : '';
  return `${what}; this file has ${sha256}${kept}`;
}

function useVersion(invoiceId: string | null, version: number): string {
  return `\`billsync invoices use-version ${invoiceId} ${version} --reason WHY\` makes it count`;
}

function countingVersion(outcome: Imported['outcome']): number | null {
  if (!('shipments' in outcome)) return null;
  if (outcome.outrankedBy !== null) return outcome.outrankedBy.version;
  if (outcome.outcome === 'already_loaded') return outcome.countingVersion;
  return outcome.outcome === 'loaded' ? outcome.version : null;
}
