/**
 * The disk of the data folder fills up while deliveries go on: 503 from the endpoint, no partial invoice, and all goes on by
 * itself once there is room. Needs root, for a small disk of its own (tmpfs). `npm run chaos -- disk-full [MiB]`.
 */

import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { settled } from '../support/foreign-story.ts';
import { checkInvariants, type Violation } from '../support/invariants.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { deliver } from '../webhook/a-delivery.ts';

export interface Fullness {
  /** Left on the disk when the deliveries began. */
  readonly freeKib: number;
  /** By what they were answered with; `none` is no answer. */
  readonly answers: Readonly<Record<string, number>>;
  readonly readyz: number | null;
  /** How often the process ended by itself and was started again, as a supervisor would. */
  readonly restarts: number;
  /** From there being room again to everything loaded. */
  readonly recoveredAfterSeconds: number;
}

export interface DiskFullResult {
  readonly fullness: readonly Fullness[];
  readonly violations: readonly Violation[];
  readonly complaints: readonly string[];
}

const FULL_FOR_MS = 10_000;
const RECOVERED_WITHIN_MS = 120_000;
const KIB = 1_024;

export async function runDiskFull(
  sizeMib: number,
  progress: (text: string) => void = () => {},
): Promise<DiskFullResult> {
  const disk = await mkdtemp(join(tmpdir(), 'small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m,mode=700`, 'tmpfs', disk]);
  const service = await startForeignService();
  const product = await createProduct({ service, settings: { BILLSYNC_DATA_DIR: join(disk, 'data') } });
  const acknowledged: string[] = [];
  const underTest = { disk, service, product, acknowledged };
  let isSound = false;
  try {
    await product.start('up');
    for (let nth = 0; nth < 3; nth += 1) await bring(underTest, 20);
    await settled(product.dataDir, truthOf(underTest), RECOVERED_WITHIN_MS);
    const fullness: Fullness[] = [];
    // Not a byte; room for deliveries; room for what loads would leave alone, and downloads do not.
    for (const freeKib of [0, 6_000, 48_000]) {
      fullness.push(await playFull(underTest, freeKib));
      progress(JSON.stringify(fullness.at(-1)));
    }
    await product.stop('up');
    const { dataDir, logFolder, password } = product;
    const secrets = [...service.secrets, password];
    const truth = truthOf(underTest);
    const violations = await checkInvariants({ dataDir, logFolder, truth, secrets, client: null });
    isSound = violations.length === 0;
    return { fullness, violations, complaints: [...service.complaints] };
  } finally {
    if (!isSound) process.stderr.write(`${product.log('up').slice(-6_000)}\n`);
    await product.close();
    await service.close();
    execFileSync('umount', ['--lazy', disk]);
    await rm(disk, { recursive: true, force: true });
  }
}

interface InvoiceUnderTest {
  readonly disk: string;
  readonly service: ForeignService;
  readonly product: Product;
  readonly acknowledged: string[];
}

async function playFull(underTest: InvoiceUnderTest, leaveKib: number): Promise<Fullness> {
  const { disk, product } = underTest;
  const ballast = join(disk, 'ballast');
  await fill(disk, ballast, leaveKib);
  const freeKib = await freeOf(disk);
  const answers: Record<string, number> = {};
  const unheard: string[] = [];
  let restarts = 0;
  let readyz: number | null = null;
  const untilMs = Date.now() + FULL_FOR_MS;
  while (Date.now() < untilMs) {
    for (const text of await anInvoice(underTest, leaveKib === 0 ? 5 : 2_000)) {
      const answer = await say(underTest, text);
      answers[answer] = (answers[answer] ?? 0) + 1;
      if (answer !== '200') unheard.push(text);
    }
    readyz = (await readyzOf(product)) ?? readyz;
    restarts += await startAgain(product);
    await sleep(1_000);
  }
  await rm(ballast);
  const freedMs = Date.now();
  restarts += await startAgain(product);
  for (const text of unheard) while ((await say(underTest, text)) !== '200') await sleep(500);
  const deadline = freedMs + RECOVERED_WITHIN_MS;
  while (Date.now() < deadline) {
    restarts += await startAgain(product);
    const isSettled = await settled(product.dataDir, truthOf(underTest), 2_000).then(
      () => true,
      () => false,
    );
    if (isSettled) break;
  }
  await settled(product.dataDir, truthOf(underTest), 1);
  const recoveredAfterSeconds = Math.round((Date.now() - freedMs) / 100) / 10;
  return { freeKib, answers, readyz, restarts, recoveredAfterSeconds };
}

function truthOf({ service, acknowledged }: InvoiceUnderTest) {
  return { billed: service.billedRows(), voided: [], acknowledged };
}

async function bring(underTest: InvoiceUnderTest, rows: number): Promise<void> {
  for (const text of await anInvoice(underTest, rows)) {
    const answer = await say(underTest, text);
    if (answer !== '200') throw new Error(`The endpoint answered ${answer}.`);
  }
}

async function anInvoice({ service }: InvoiceUnderTest, rows: number): Promise<readonly string[]> {
  const from = service.events.length;
  const { invoiceId } = await service.createInvoice({ rows });
  await service.finalize(invoiceId);
  return service.events.slice(from);
}

async function say({ product, acknowledged }: InvoiceUnderTest, text: string): Promise<string> {
  const reply = await deliver(product.webhookUrl, text).catch(() => null);
  if (reply?.statusCode === 200) acknowledged.push(reply.body.eventId ?? '');
  return reply === null ? 'none' : String(reply.statusCode);
}

async function readyzOf(product: Product): Promise<number | null> {
  try {
    const { statusCode, body } = await request(new URL('/readyz', product.address('up', 'dashboard') ?? ''));
    await body.dump();
    return statusCode;
  } catch {
    return null;
  }
}

/** @returns 1 when it had to be started again */
async function startAgain(product: Product): Promise<number> {
  if (product.isRunning('up')) return 0;
  // Without room it may refuse to start: the supervisor tries again.
  await product.start('up').catch(() => undefined);
  return 1;
}

async function freeOf(disk: string): Promise<number> {
  const { bavail, bsize } = await statfs(disk);
  return Math.floor((bavail * bsize) / KIB);
}

async function fill(disk: string, ballast: string, leaveKib: number): Promise<void> {
  const file = openSync(ballast, 'a', 0o600);
  try {
    const block = Buffer.alloc(64 * KIB);
    while ((await freeOf(disk)) > leaveKib + 64) writeSync(file, block);
    // To the last page when nothing is to be left.
    while (leaveKib === 0) writeSync(file, block.subarray(0, 4 * KIB));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

/** In words; empty when every promise was kept. */
export function brokenPromises({ fullness, violations, complaints }: DiskFullResult): readonly string[] {
  const [full] = fullness;
  return [
    ...((full?.answers['503'] ?? 0) > 0 ? [] : ['a full disk was not answered with 503']),
    ...fullness.flatMap(({ freeKib, answers, readyz, restarts }) => [
      ...((answers.none ?? 0) === 0 ? [] : [`${freeKib} KiB free: ${answers.none} deliveries had no answer`]),
      ...(readyz === 503 ? [] : [`${freeKib} KiB free: /readyz said ${readyz}`]),
      ...(restarts === 0 ? [] : [`${freeKib} KiB free: it ended by itself ${restarts} times`]),
    ]),
    ...violations.map(({ invariant, what }) => `${invariant}: ${what}`),
    ...complaints,
  ];
}

export const summary =
  'the disk fills up: 503 from the endpoint, no partial invoice, goes on by itself [200] (root)';

/** @throws Error a promise was broken */
export async function main([sizeMib = '200']: readonly string[]): Promise<void> {
  const result = await runDiskFull(Number(sizeMib), (text) => process.stderr.write(`${text}\n`));
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = brokenPromises(result);
  if (broken.length > 0)
    throw new Error(`${broken.length} promises were broken: ${broken.slice(0, 5).join('; ')}`);
}
