/** What a lake costs against the single file: the same invoices through the same loads, in turn. */

import { rmSync } from 'node:fs';
import { openFolderArchive } from '../archive/folder-archive.ts';
import { runReport } from '../reports/run-report.ts';
import { type LakeServer, shownPath, startLakeServer } from '../test/warehouse/lake/support.ts';
import { aCsv, archiveCsv, makeDataDir, settingsFor, silent } from '../test/warehouse/support.ts';
import { openWarehouse } from '../warehouse/open-warehouse.ts';

export const summary =
  'loads and a report over a lake against the single file ([small invoices] [rows of the large one])';

type Settings = Parameters<typeof openWarehouse>[0]['settings'];

interface Laps {
  readonly open: number;
  /** Per small invoice, one after the other. */
  readonly small: number;
  /** Per small invoice, four at a time. */
  readonly fourAtOnce: number;
  readonly large: number;
  readonly verify: number;
  readonly report: number;
}

const ROUNDS = 3;
const SMALL_ROWS = 500;

export async function main(args: readonly string[]): Promise<void> {
  const [invoices = 100, rows = 1_000_000] = args.map(Number);
  const server = await startLakeServer();
  try {
    const laps: Record<'file' | 'lake', Laps[]> = { file: [], lake: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      laps.file.push(await measure(server, { kind: 'file', invoices, rows }));
      laps.lake.push(await measure(server, { kind: 'lake', invoices, rows }));
    }
    process.stdout.write(table(laps, { invoices, rows }));
  } finally {
    await server.stop();
  }
}

interface Work {
  readonly kind: 'file' | 'lake';
  readonly invoices: number;
  readonly rows: number;
}

async function measure(server: LakeServer, { kind, invoices, rows }: Work): Promise<Laps> {
  const dataDir = makeDataDir();
  const lake = kind === 'lake' ? await server.aLake(dataDir) : null;
  const settings: Settings = lake ?? settingsFor(dataDir);
  const archive = await openFolderArchive(settings.archive.kind === 'folder' ? settings.archive.path : '');
  const archived = async (number: number, count: number) => {
    const invoiceId = `11111111-1111-4111-8111-${`${number}`.padStart(12, '0')}`;
    const { sha256 } = await archiveCsv({ dataDir, archive }, manyRows(invoiceId, count));
    return { invoiceId, sha256 };
  };
  const first = await Promise.all(range(invoices).map((number) => archived(number, SMALL_ROWS)));
  const second = await Promise.all(range(invoices).map((number) => archived(invoices + number, SMALL_ROWS)));
  const large = await archived(2 * invoices, rows);

  const [open, warehouse] = await timed(() => openWarehouse({ settings, archive, log: silent }));
  const load = async ({ invoiceId, sha256 }: (typeof first)[number]): Promise<void> => {
    const source = { source: 'event', announcedSha256: sha256, eventId: null, workflowRunId: null } as const;
    const { outcome } = await warehouse.load({ invoiceId, sha256, ...source });
    if (outcome !== 'loaded') throw new Error(`an invoice of the benchmark was ${outcome}`);
  };
  const [small] = await timed(async () => {
    for (const invoice of first) await load(invoice);
  });
  const [fourAtOnce] = await timed(async () => {
    const queue = [...second];
    const worker = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) await load(next);
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  });
  const [largeOne] = await timed(() => load(large));
  const [verify] = await timed(() => warehouse.verify({ full: true }));
  const { path } = await warehouse.publish();
  const databasePath = lake === null ? path : shownPath(lake);
  await runReport({ databasePath, name: 'carriers' });
  const [report] = await timed(() => runReport({ databasePath, name: 'carriers' }));
  await warehouse.close();
  await archive.close();
  rmSync(dataDir, { recursive: true, force: true });
  return {
    ...{ open, large: largeOne, verify, report },
    ...{ small: small / invoices, fourAtOnce: fourAtOnce / invoices },
  };
}

/** A thousand rows again and again: what they say does not matter here, how many there are does. */
function manyRows(invoiceId: string, count: number): Buffer {
  const block = Math.min(count, 1_000);
  const bytes = aCsv(Array(block).fill({}), invoiceId);
  const headerEnd = bytes.indexOf('\r\n') + 2;
  const blocks = Array<Buffer>(Math.floor(count / block)).fill(bytes.subarray(headerEnd));
  return Buffer.concat([bytes.subarray(0, headerEnd), ...blocks]);
}

function table(
  laps: Record<'file' | 'lake', readonly Laps[]>,
  { invoices, rows }: { readonly invoices: number; readonly rows: number },
): string {
  const questions: readonly { readonly key: keyof Laps; readonly title: string }[] = [
    { key: 'open', title: 'open' },
    { key: 'small', title: `an invoice of ${SMALL_ROWS} rows (${invoices}, in turn)` },
    { key: 'fourAtOnce', title: `an invoice of ${SMALL_ROWS} rows (${invoices}, four at once)` },
    { key: 'large', title: `an invoice of ${rows} rows` },
    { key: 'verify', title: 'verify all' },
    { key: 'report', title: 'report carriers' },
  ];
  const lines = questions.map(({ key, title }) => {
    const [file, lake] = [median(laps.file.map((lap) => lap[key])), median(laps.lake.map((lap) => lap[key]))];
    return `| ${title} | ${file.toFixed(0)} | ${lake.toFixed(0)} | ${(lake / file).toFixed(2)} |`;
  });
  return `| what | file, ms | lake, ms | lake / file |\n|---|---|---|---|\n${lines.join('\n')}\n`;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [number, T]> {
  const began = performance.now();
  const result = await work();
  return [performance.now() - began, result];
}
