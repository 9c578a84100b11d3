/** Many writers on one lake, some of them killed, a reader that looks all the while, and the findings after it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openFolderArchive } from '../../../archive/folder-archive.ts';
import { openWarehouse, rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import type { OpenWarehouseOptions } from '../../../warehouse/store.ts';
import { cleanEnvironment } from '../../support/processes/billsync.ts';
import { testProgram } from '../../support/processes/test-program.ts';
import { aCsv, archiveCsv, ask, makeDataDir, settingsFor, silent } from '../support.ts';
import { askLake, type LakeServer, type LakeTestSettings, lookAtLake, shownPath } from './support.ts';

export interface LakePlan {
  readonly settings: OpenWarehouseOptions['settings'];
  readonly archive: string;
  readonly invoices: readonly {
    readonly invoiceId: string;
    readonly sha256: string;
    readonly rows: number;
    readonly isVoided: boolean;
  }[];
}

export interface LakeRun {
  readonly invoices: number;
  readonly rows: number;
  readonly writers: number;
  /** Writers killed with SIGKILL and started again, one after the other. */
  readonly kills: number;
}

export interface LakeVerdict {
  /** Each invoice was tried by every writer; how often it was loaded by one. */
  readonly loaded: number;
  readonly refused: number;
  /** Looks that the reader had, and those in which an invoice was neither whole nor absent. */
  readonly looks: number;
  readonly halfSeen: number;
  readonly killed: number;
  readonly lost: number;
  readonly wrongRows: number;
  readonly drift: number;
  /** Whether a single file made from the same archive shows the same shipments. */
  readonly equalsFile: boolean;
  readonly seconds: number;
}

export async function runLake(server: LakeServer, run: LakeRun): Promise<LakeVerdict> {
  const dataDir = makeDataDir();
  const settings = await server.aLake(dataDir);
  const plan = await makePlan(settings, run);
  const archive = await openFolderArchive(plan.archive);
  // The lake is there before the writers come, so that their beginning is not what is looked at.
  await (await openWarehouse({ settings, archive, log: silent })).close();
  const promised = new Set<string>();
  const refused = new Set<string>();
  const heard = (word: string, invoiceId: string): void => {
    if (word === 'loaded') promised.add(invoiceId);
    if (!['loaded', 'already_loaded', 'voided'].includes(word)) refused.add(`${word} ${invoiceId}`);
  };
  try {
    const writers = await Promise.all(
      Array.from({ length: run.writers }, (_, index) => startWriter(plan, { index, seed: index + 1, heard })),
    );
    const reader = watch(settings, plan);
    const began = performance.now();
    for (const writer of writers) writer.stdin?.write('go\n');
    let killed = 0;
    const survivors = [...writers];
    while (killed < run.kills && promised.size < run.invoices) {
      await new Promise((wake) => setTimeout(wake, 150 + ((killed * 97) % 350)));
      const index = killed % run.writers;
      const victim = survivors[index];
      if (victim === undefined || victim.exitCode !== null) break;
      await end(victim);
      killed += 1;
      const next = await startWriter(plan, { index, seed: 100 + killed, heard });
      next.stdin?.write('go\n');
      survivors[index] = next;
    }
    const codes = await Promise.all(survivors.map(exitCode));
    const seconds = (performance.now() - began) / 1000;
    const { looks, halfSeen } = await reader.stop();
    if (codes.some((code) => code !== 0)) throw new Error(`writers ended with ${codes.join(', ')}`);
    const inspected = await inspect(settings, { plan, promised });
    return { ...inspected, loaded: promised.size, refused: refused.size, looks, halfSeen, killed, seconds };
  } finally {
    await archive.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function makePlan(settings: LakeTestSettings, run: LakeRun): Promise<LakePlan> {
  const { dataDir } = settings;
  const path = join(dataDir, 'archive');
  const archive = await openFolderArchive(path);
  const invoices = [];
  for (let number = 0; number < run.invoices; number += 1) {
    const invoiceId = `11111111-1111-4111-8111-${`${number}`.padStart(12, '0')}`;
    const rows = 1 + ((number * 7) % run.rows);
    const cells = Array.from({ length: rows }, () => ({ 'Billing Cost': '1.25' }));
    const { sha256 } = await archiveCsv({ dataDir, archive }, aCsv(cells, invoiceId));
    invoices.push({ invoiceId, sha256, rows, isVoided: number % 10 === 9 });
  }
  await archive.close();
  return { settings, archive: path, invoices };
}

async function startWriter(
  plan: LakePlan,
  { index, seed, heard }: { index: number; seed: number; heard: (word: string, invoiceId: string) => void },
): Promise<ChildProcess> {
  // A machine of its own: what it shares with the others is the lake and the archive.
  const folder = join(plan.settings.dataDir, `writer-${index}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'plan.json'), JSON.stringify(plan));
  const program = [testProgram('warehouse/lake/writer.ts'), folder, `${seed}`];
  const child = spawn(process.execPath, program, {
    env: cleanEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => {
    complaint = (complaint + text.toString()).slice(-2_000);
  });
  child.once('exit', (code) => {
    if (code !== 0 && code !== null) process.stderr.write(`a writer ended with ${code}: ${complaint}\n`);
  });
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      const [word = '', invoiceId = ''] = line.split(' ');
      if (word === 'ready') resolve();
      else heard(word, invoiceId);
    });
    child.once('exit', () => reject(new Error(`a writer ended early: ${complaint}`)));
  });
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return child.exitCode;
}

/** Looks again and again: in one look every invoice that counts has all of its rows, and no other has any. */
function watch(settings: LakeTestSettings, plan: LakePlan) {
  let isStopped = false;
  let looks = 0;
  let halfSeen = 0;
  const rowsOf = new Map(plan.invoices.map(({ invoiceId, rows }) => [invoiceId, rows]));
  const looking = (async () => {
    while (!isStopped) {
      const look = await lookAtLake(settings);
      const rows = await look.runAndReadAll(
        `select i.invoice_id::varchar as id, i.state, i.shipments::integer as told, coalesce(s.seen, 0)::integer as seen
         from invoices as i
         left join (select invoice_id, count(*) as seen from shipments group by invoice_id) as s using (invoice_id)`,
      );
      look.closeSync();
      for (const { id, state, told, seen } of rows.getRowObjectsJson()) {
        const whole = rowsOf.get(String(id));
        const isWhole = state === 'voided' ? seen === 0 : told === whole && seen === whole;
        if (!isWhole) halfSeen += 1;
      }
      looks += 1;
    }
  })();
  return {
    async stop(): Promise<{ looks: number; halfSeen: number }> {
      isStopped = true;
      await looking;
      return { looks, halfSeen };
    },
  };
}

async function inspect(
  settings: LakeTestSettings,
  { plan, promised }: { readonly plan: LakePlan; readonly promised: ReadonlySet<string> },
): Promise<Pick<LakeVerdict, 'lost' | 'wrongRows' | 'drift' | 'equalsFile'>> {
  const archive = await openFolderArchive(plan.archive);
  const warehouse = await openWarehouse({ settings, archive, log: silent });
  const { drift } = await warehouse.verify({ full: true });
  await warehouse.close();
  // Past all views: the rows that lie there are those of the loads that count, no more.
  const stored = await askLake(
    settings,
    `select coalesce(l.invoice_id::varchar, 'nobody') as id, count(*)::integer as n
     from shipment_rows left join loads as l using (load_id) group by all`,
  );
  const rowsOf = new Map(stored.map(({ id, n }) => [String(id), Number(n)]));
  const wrongRows =
    plan.invoices.filter(({ invoiceId, rows }) => rowsOf.get(invoiceId) !== rows).length +
    (rowsOf.get('nobody') ?? 0);
  const lost = [...promised].filter((invoiceId) => !rowsOf.has(invoiceId)).length;
  const equalsFile = await equalsSingleFile(settings, plan);
  await archive.close();
  return { lost, wrongRows, drift: drift.length, equalsFile };
}

async function equalsSingleFile(settings: LakeTestSettings, plan: LakePlan): Promise<boolean> {
  const archive = await openFolderArchive(plan.archive);
  const fileSettings = { ...settingsFor(makeDataDir()), archive: settings.archive };
  await rebuildWarehouse({ settings: fileSettings, archive, log: silent });
  await archive.close();
  const path = join(fileSettings.dataDir, 'reports.duckdb');
  shownPath(settings);
  const questions = ['shipments', 'invoices'].map((view) => `select * from ${view} order by all`);
  const pairs = await Promise.all(
    questions.map(async (sql) => [await askLake(settings, sql), await ask(path, sql)] as const),
  );
  rmSync(fileSettings.dataDir, { recursive: true, force: true });
  return pairs.every(([lake, file]) => JSON.stringify(lake) === JSON.stringify(file));
}
