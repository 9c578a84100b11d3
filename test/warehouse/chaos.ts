import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { RECORDS_PER_CUT } from '../../lib/wire/csv-scanner.ts';
import { testProgram } from '../support/processes/test-program.ts';
import { openOrRebuild } from './open-or-rebuild.ts';
import { archiveCsv, makeDataDir, manyRecords, queryFile, settingsFor, silent } from './support.ts';

/** The fourth group of a large invoice's id. */
const LARGE = '8222';

export type Workshop = ReturnType<typeof workshopIn>;

/** Invoices with two versions each, archived and planned; the warehouse itself is still empty. */
export async function aWorkshop(options: {
  readonly invoices: number;
  readonly rows: number;
  /** Further invoices, of files that are loaded in chunks. */
  readonly large?: number;
  /** A folder to make it in, else the system's for temporary files. */
  readonly under?: string;
}): Promise<Workshop> {
  const dataDir = makeDataDir(options.under);
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const plan = async (
    count: number,
    { group, records }: { group: string; records: (of: number) => number },
  ) => {
    const planned = [];
    for (let number = 0; number < count; number += 1) {
      const invoiceId = `11111111-1111-4111-${group}-${`${number}`.padStart(12, '0')}`;
      const files = [];
      for (const cost of ['1.25', '2.5']) {
        const bytes = manyRecords(records(number), [{ 'Billing Cost': cost }], invoiceId);
        files.push((await archiveCsv({ dataDir, archive }, bytes)).sha256);
      }
      planned.push({ invoiceId, files });
    }
    return planned;
  };
  const invoices = await plan(options.invoices, { group: '8111', records: (of) => 1 + (of % options.rows) });
  const large = await plan(options.large ?? 0, { group: LARGE, records: (of) => RECORDS_PER_CUT + 1 + of });
  await archive.close();
  writeFileSync(join(dataDir, 'plan.json'), JSON.stringify({ invoices, large }));
  return workshopIn(dataDir);
}

export function workshopIn(dataDir: string) {
  return {
    dataDir,
    promised: { loads: new Set<string>(), voids: new Set<string>() },
    /** Starts that found the file damaged and made it again from the archive. */
    rebuilds: [] as string[],
    /** Loads of large files that writers began, and how many of them ended. */
    large: { begun: 0, answered: 0 },
    /** Batches of small files that writers began, and how many of them ended, by a commit or by a rollback. */
    batches: { begun: 0, ended: 0 },
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
}

/** Starts a writer; resolves when its warehouse is open. Ends by itself only with exit code 9 (disk full). */
export async function startWriter(
  workshop: Workshop,
  options: { readonly seed: number; readonly mode?: 'mixed' | 'loads'; readonly largestFileKb?: number },
): Promise<ChildProcess> {
  const runner = testProgram('warehouse/chaos-runner.ts');
  const args = [runner, workshop.dataDir, `${options.seed}`, options.mode ?? 'mixed'];
  const limit = options.largestFileKb;
  // A limit on file size acts as a full disk, also without root: the signal is ignored, and writes fail.
  const script = `trap '' XFSZ; ulimit -f ${limit}; exec "$@"`;
  const child =
    limit === undefined
      ? spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn('/bin/bash', ['-c', script, 'sh', process.execPath, ...args], {
          stdio: ['ignore', 'pipe', 'pipe'],
        });
  let complaint = '';
  child.stderr?.on('data', (text: Buffer) => {
    complaint = (complaint + text.toString()).slice(-2_000);
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      const [outcome, invoiceId = '', sha256 = ''] = line.split(' ');
      if (outcome === 'ready') resolve();
      if (outcome === 'rebuilt') workshop.rebuilds.push('writer');
      if (outcome === 'batch-begins') workshop.batches.begun += 1;
      if (outcome === 'batch-ends') workshop.batches.ended += 1;
      if (outcome === 'begins') workshop.large.begun += 1;
      else if (invoiceId.includes(LARGE)) workshop.large.answered += 1;
      if (outcome === 'loaded' || outcome === 'already_loaded')
        workshop.promised.loads.add(`${invoiceId} ${sha256}`);
      if (outcome === 'voided') workshop.promised.voids.add(invoiceId);
    });
    child.once('exit', (code, signal) =>
      reject(new Error(`the writer ended early (${code ?? signal}): ${complaint}`)),
    );
  });
  return child;
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  // Lines that were written before the kill may still arrive.
  await new Promise((wake) => setImmediate(wake));
}

export type Findings = Awaited<ReturnType<typeof inspect>>;

/** Opens the warehouse as the next start would, and compares it with the promises. */
export async function inspect(workshop: Workshop) {
  const archive = await openFolderArchive(join(workshop.dataDir, 'archive'));
  const settings = settingsFor(workshop.dataDir);
  const { warehouse, wasDamaged } = await openOrRebuild({ settings, archive, log: silent });
  if (wasDamaged) workshop.rebuilds.push('inspect');
  const { drift } = await warehouse.verify({ full: true });
  const { path } = await warehouse.publish();
  await warehouse.close();
  await archive.close();
  return { ...(await checkFile(path, workshop)), drift };
}

/** The same of a published copy by itself. */
export async function checkFile(path: string, workshop: Workshop | null) {
  const loads = await queryFile(
    path,
    "select invoice_id::varchar || ' ' || file_sha256 as load from internal.loads",
  );
  const here = new Set(loads.map((row) => String(row.load)));
  const lost = [...(workshop?.promised.loads ?? [])].filter((load) => !here.has(load));
  const voided = await queryFile(
    path,
    'select invoice_id::varchar as id from invoices where voided_at is not null',
  );
  const voids = new Set(voided.map((row) => String(row.id)));
  const lostVoids = [...(workshop?.promised.voids ?? [])]
    .filter((id) => !voids.has(id))
    .map((id) => `void ${id}`);
  const one = async (sql: string): Promise<number> =>
    Number(Object.values((await queryFile(path, sql))[0] ?? {})[0]);
  return {
    lost: [...lost, ...lostVoids],
    partial: await one(`select count(*)::integer from internal.loads as l full join
      (select load_id, count(*) as n, sum(billing_cost) as cost from internal.shipment_rows group by 1) as r on r.load_id = l.load_id
      where l.shipments is distinct from r.n or l.billing_cost is distinct from r.cost`),
    doubled: await one(
      `select (count(*) - count(distinct (invoice_id, file_sha256)))::integer from internal.loads`,
    ),
    voidedInReports: await one(`select count(*)::integer from shipments semi join
      (select invoice_id from invoices where state = 'voided') as v on v.invoice_id = shipments.invoice_id`),
    loads: here.size,
  };
}

export function isSound(found: Findings): boolean {
  return found.lost.length + found.partial + found.doubled + found.voidedInReports + found.drift.length === 0;
}

/** Nothing lost, partial, doubled, drifting or voided in a report. */
export const SOUND = { lost: [], partial: 0, doubled: 0, voidedInReports: 0, drift: [] };
