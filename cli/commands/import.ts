import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text as readStream } from 'node:stream/consumers';
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import type { Archive } from '../../archive/archive.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { firstLine } from '../../lib/system-errors.ts';
import { uuidOrNull } from '../../lib/text.ts';
import type { Imported, ImportRequest, Rejection } from '../../lib/warehouse-requests.ts';
import { cellAdvice } from '../../lib/wire/csv-file.ts';
import { SPREADSHEET_RULE } from '../../lib/wire/spreadsheet-damage.ts';
import { claimDataFolder } from '../../warehouse/data-folder.ts';
import { type CopyBegun, takeCopy } from '../../warehouse/import/take-copy.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted, type Output, paceOf } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { type Run, verb } from '../verb.ts';
import { withWriter } from '../writer.ts';

interface ImportFlags {
  readonly filesFrom?: string;
  readonly invoice?: string;
  readonly dryRun?: boolean;
  readonly acceptSpreadsheet?: boolean;
}

export function command(): Command {
  return verb(
    'import [file...]',
    'Loads invoice CSVs that were exported by hand. Needs neither Temporal nor a billing service.',
    'billsync import INV-000042.csv --dry-run',
  )
    .option('--files-from <list>', 'read names of files from this file, one a line; - reads stdin')
    .option('--invoice <id>', 'id of the invoice; by default that of the first row')
    .option('--accept-spreadsheet', 'also load a file whose cells a spreadsheet seems to have changed')
    .option('--dry-run', 'check the file and load nothing')
    .ndjson()
    .audited()
    .run(async ({ settings, output, flags }: Run<ImportFlags>, named: readonly string[]) => {
      const paths = await filesOf([...named, ...(await listedNames(flags.filesFrom))]);
      if (flags.invoice !== undefined && paths.length > 1) {
        throw new CliError(EXIT.usage, '--invoice needs a single file', {
          hint: 'import the files one by one',
        });
      }
      if (flags.invoice !== undefined && uuidOrNull(flags.invoice) === null) {
        throw new CliError(EXIT.usage, `--invoice ${printable(flags.invoice)} is not an invoice id`, {
          hint: 'the id is a UUID, not the number of the invoice',
        });
      }
      const requests = paths.map((path) => ({
        path,
        invoiceId: flags.invoice ?? null,
        dryRun: flags.dryRun === true,
        acceptsSpreadsheet: flags.acceptSpreadsheet === true,
      }));
      const imported = await (flags.dryRun === true ? printDryRun : importAll)(settings, requests, output);
      printImported(output, paths, imported);
    });
}

async function listedNames(list: string | undefined): Promise<readonly string[]> {
  if (list === undefined) return [];
  const text = list === '-' ? await readStream(process.stdin) : await readFile(list, 'utf8');
  return text.split(/\r?\n/).filter((name) => name !== '');
}

async function filesOf(names: readonly string[]): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const name of names) paths.push(...(await filesAt(resolve(name))));
  if (paths.length > 0) return [...new Set(paths)];
  throw new CliError(EXIT.usage, 'no file is named', {
    hint: 'name CSV files or folders, or a list of them with --files-from LIST; - reads stdin',
  });
}

/** A folder stands for the CSV files in it and below it, except those whose names begin with a point. */
async function filesAt(path: string): Promise<readonly string[]> {
  const found = await stat(path);
  if (found.isFile()) return [path];
  if (!found.isDirectory())
    throw new CliError(EXIT.usage, `${path} is not a regular file`, {
      hint: 'save its content as a file, and name that file',
    });
  const below = await readdir(path, { recursive: true, withFileTypes: true });
  const files = below
    .filter((entry) => !entry.isDirectory() && /^[^.].*\.csv$/i.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
  if (files.length > 0) return files;
  throw new CliError(EXIT.usage, `${path} is a folder without a CSV file`, {
    hint: 'name a folder with files that end in .csv, or the files themselves',
  });
}

async function printDryRun(
  settings: Settings,
  requests: readonly ImportRequest[],
  output: Output,
): Promise<readonly Imported[]> {
  if (existsSync(settings.dataDir) || settings.warehouse.kind === 'ducklake') {
    return importAll(settings, requests, output);
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'billsync-import-'));
  try {
    const warehouse = { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') } as const;
    const archive = { kind: 'folder', path: join(dataDir, 'archive') } as const;
    return await importAll({ ...settings, dataDir, warehouse, archive }, requests, output);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function importAll(
  settings: Settings,
  requests: readonly ImportRequest[],
  output: Output,
): Promise<readonly Imported[]> {
  const [first] = requests;
  const progress = output.progress('Importing');
  const pace = paceOf('files');
  const onDone = (done: number): void => progress.update(done, requests.length, pace(done, requests.length));
  let begun: CopyBegun | undefined;
  try {
    onDone(0);
    return await withWriter(settings, {
      role: 'import',
      makesFolder: true,
      request: (client) => importByWorker(client, { settings, requests, onDone }),
      async begin() {
        await claimDataFolder(settings.dataDir, settings.environment);
        if (first !== undefined) begun = takeCopy(settings.dataDir, first.path);
      },
      direct: (warehouse, archive) =>
        importHere({ settings, warehouse, archive, requests, begun, onDone, output }),
    });
  } finally {
    progress.end();
    await begun?.discard();
  }
}

interface Importing {
  readonly settings: Settings;
  readonly requests: readonly ImportRequest[];
  readonly onDone: (done: number) => void;
}

const REQUESTS_AT_ONCE = 16;

async function importByWorker(client: Client, { settings, requests, onDone }: Importing) {
  const { requestImport } = await import('../../workflows/client/writer-client.ts');
  const { inInvoiceOrder } = await import('../../warehouse/import/import-files.ts');
  const results: Awaited<ReturnType<typeof requestImport>>[] = [];
  let done = 0;
  await inInvoiceOrder(requests, REQUESTS_AT_ONCE, async (request, index) => {
    results[index] = await requestImport(client, settings, request);
    done += 1;
    onDone(done);
  });
  return results;
}

interface Here extends Importing {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly begun: CopyBegun | undefined;
  readonly output: Output;
}

async function importHere(here: Here): Promise<readonly Imported[]> {
  const { settings, warehouse, archive, requests, begun, onDone, output } = here;
  const { importFiles } = await import('../../warehouse/import/import-files.ts');
  const service = await openService(settings, archive, output);
  const { openQuarantine } = await import('../../webhook/inbox/quarantine.ts');
  const quarantine = await openQuarantine(dataFolder(settings.dataDir).quarantine);
  const deps = { warehouse, archive, quarantine, dataDir: settings.dataDir, now: () => new Date(), onDone };
  const withService = service === null ? deps : { ...deps, lookUp: service.describe };
  try {
    const results = await importFiles(withService, requests, begun);
    if (requests.some(({ dryRun }) => dryRun !== true)) await warehouse.publish();
    return results;
  } finally {
    await service?.close();
  }
}

async function openService(settings: Settings, archive: Archive, output: Output) {
  if (settings.service.baseUrl === null) return null;
  const { createBillingService } = await import('../../billing/client.ts');
  const { describeInvoice } = await import('../../billing/billing-service.ts');
  const { isNotConnected } = await import('../../billing/errors.ts');
  const service = createBillingService({ settings, archive });
  let isWarned = false;
  return {
    async describe(invoiceId: string): Promise<Awaited<ReturnType<typeof describeInvoice>>> {
      try {
        return await describeInvoice(service, invoiceId);
      } catch (error) {
        if (!isNotConnected(error)) throw error;
        if (!isWarned)
          output.warn(`The billing service cannot be reached, so it confirms nothing: ${firstLine(error)}`);
        isWarned = true;
        return null;
      }
    },
    close: () => service.close(),
  };
}

function printImported(output: Output, paths: readonly string[], imported: readonly Imported[]): void {
  const rows = imported.map((one, index) => ({ file: paths[index] ?? '', ...asJson(one) }));
  output.rows(rows, [
    { title: 'file', value: ({ file }) => file },
    { title: 'invoice', value: ({ invoice_id }) => invoice_id },
    { title: 'outcome', value: ({ outcome }) => outcome },
    { title: 'shipments', value: ({ shipments }) => shipments, align: 'right' },
    { title: 'billing cost', value: ({ billing_cost }) => billing_cost, align: 'right' },
    { title: 'proof', value: ({ proof }) => proof },
  ]);
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

function adviceFor(refused: readonly Printed[]): string {
  const needed = new Set(refused.flatMap(({ needed_tolerances: needed }) => needed));
  if (needed.size > 0) {
    return `if the service intends this form, BILLSYNC_CSV_TOLERATE with ${[...needed].join(',')} accepts them; --json lists the findings`;
  }
  if (refused.some(({ outcome }) => outcome === 'outranked'))
    return "`billsync backfill ID` fetches the service's own file";
  const rules = new Set(refused.flatMap(({ findings }) => findings.map(({ rule }) => rule)));
  if (rules.has(SPREADSHEET_RULE))
    return 'download the file again and do not save it from a spreadsheet; --accept-spreadsheet loads it as it is';
  if (rules.has('format')) return 'import the CSV itself, as it was downloaded';
  if (rules.size === 0) return '--json lists the contradictions';
  if (rules.has('no-final-line-end')) return 'it may be cut off: export it again and import the whole file';
  if (rules.has('invoice-id') && rules.size === 1)
    return 'a file contains the rows of one invoice; --invoice names it if the first row does not';
  const advice = cellAdvice(refused.flatMap(({ findings }) => findings));
  const unchanged = advice === null ? '' : `if the service sent it so, ${advice}; `;
  return `export it again and import it unchanged, not saved by a spreadsheet; ${unchanged}--json lists the findings`;
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
    case 'voided':
      return 'the invoice is voided';
    default:
      return null;
  }
}

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
    named: `${version === null ? '' : `${counts}, `}the service names the hash ${by.sha256}`,
    later: `${counts}, which was loaded later, its hash is ${by.sha256}`,
  }[proof];
  const kept =
    'version' in outcome
      ? `; it is kept as version ${outcome.version}, \`billsync invoices use-version ${invoiceId} ${outcome.version} --reason WHY\` makes it count`
      : '';
  return `${what}; this file has ${sha256}${kept}`;
}

function countingVersion(outcome: Imported['outcome']): number | null {
  if (!('shipments' in outcome)) return null;
  if (outcome.outrankedBy !== null) return outcome.outrankedBy.version;
  return 'version' in outcome ? outcome.version : null;
}
