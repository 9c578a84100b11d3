/**
 * Endpoint, worker and Temporal as processes of their own (or `up`, all in one), killed -9 at random and started again
 * at once on the same ports and files, while a foreign service delivers. Afterwards reports and books agree to the
 * fourth decimal. `npm run chaos -- processes [invoices] [kills] [seed] [up]` prints the figures.
 */

import { findProcesses } from '../../lib/processes.ts';
import { startForeignService } from '../support/foreign-service/foreign-service.ts';
import {
  createRandom,
  createStory,
  type StoryFigures,
  settled,
} from '../support/foreign-service/foreign-story.ts';
import { openToOthers } from '../support/hostile/open-to-others.ts';
import { checkInvariants, letWorkflowTasksEnd, type Violation } from '../support/invariants/invariants.ts';
import { compareReports } from '../support/invariants/report-check.ts';
import { billsync } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';
import { killAndRestart } from '../support/processes/kill-and-check.ts';
import { createProduct, type Product, type Role } from '../support/processes/product.ts';
import { withTemporalBeside } from '../support/temporal/temporal-beside.ts';

export interface ProcessesOptions {
  readonly invoices: number;
  readonly kills: number;
  readonly seed: number;
  /** Everything in one process, instead of three. */
  readonly isUp?: boolean;
  readonly progress?: (text: string) => void;
}

export interface ProcessesResult extends StoryFigures {
  readonly kills: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  /** What `billsync report` and `verify` say against the books, in words. */
  readonly contradictions: readonly string[];
  /** What the service had to say against us. */
  readonly complaints: readonly string[];
  readonly openToOthers: readonly string[];
  /** Processes of ours that a SIGTERM left behind. */
  readonly orphans: readonly number[];
  /** From the last event or kill to everything being where it belongs. */
  readonly secondsToSettle: number;
  readonly seconds: number;
  /** Of the SIGTERM at the end. */
  readonly exitCodes: readonly (number | null)[];
}

/** Above the minute after which a delivery that failed while Temporal was away is tried again. */
const SETTLED_WITHIN_MS = 240_000;

export async function runProcesses(options: ProcessesOptions): Promise<ProcessesResult> {
  const { invoices, kills, seed, isUp = false, progress } = options;
  const roles: readonly Role[] = isUp ? ['up'] : ['temporal', 'webhook', 'worker'];
  const beganMs = Date.now();
  const service = await startForeignService({ seed });
  const product = await createProduct({
    service,
    settings: {
      BILLSYNC_OVERDUE_AFTER: '2s,4s,8s',
      // Every other story leads each file over a new URL, as for somebody who never named the storage's host.
      ...(seed % 2 === 0 ? { BILLSYNC_DOWNLOAD_HOSTS: '' } : {}),
      ...(isUp ? {} : { TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }),
    },
  });
  let isSound = false;
  try {
    // All at once, on a folder that does not exist yet.
    await Promise.all(roles.map((role) => product.start(role)));
    let kill = 0;
    const story = createStory({
      ...{ service, webhookUrl: product.webhookUrl, invoices, seed, pauseMs: 200 },
      partAllowed: () => kill / kills,
    });
    const [, kinds] = await Promise.all([
      story.tell(),
      killAndRestart({
        ...{ product, roles, kills, random: createRandom(seed + 1) },
        progress(text, nth) {
          kill = nth;
          progress?.(text);
        },
      }),
    ]);
    progress?.(`told: ${JSON.stringify(story.figures())}`);
    const toldMs = Date.now();
    await settled(product.dataDir, story.truth(), SETTLED_WITHIN_MS);
    const secondsToSettle = Math.round((Date.now() - toldMs) / 1_000);
    const contradictions = [
      ...(await compareReports(product.dataDir, service.billedRows())),
      ...(await requestVerify(product.dataDir)),
    ];
    const secrets = [...service.secrets, product.password];
    const inspected = await endAndInspect(product, roles, (inspect) =>
      checkInvariants({ ...inspect, truth: story.truth(), secrets }),
    );
    const result = {
      ...story.figures(),
      ...{ kills: kinds, contradictions, complaints: [...service.complaints], secondsToSettle, ...inspected },
      openToOthers: await openToOthers(product.dataDir),
      seconds: Math.round((Date.now() - beganMs) / 1_000),
    };
    isSound = brokenPromises(result).length === 0;
    return result;
  } finally {
    if (!isSound) process.stderr.write(`Kept for a look: ${product.dataDir}\n`);
    await product.close({ keep: !isSound });
    await service.close();
  }
}

/** In words; empty when every promise was kept. */
export function brokenPromises(result: ProcessesResult): readonly string[] {
  return [
    ...result.violations.map(({ invariant, what }) => `${invariant}: ${what}`),
    ...result.contradictions,
    ...result.complaints,
    ...result.openToOthers,
    ...result.orphans.map((pid) => `process ${pid} was left behind`),
    ...result.exitCodes.filter((code) => code !== 0).map((code) => `a role ended with ${code}`),
  ];
}

async function requestVerify(dataDir: string): Promise<readonly string[]> {
  const { exitCode, stdout, stderr } = await billsync(['verify', '--full', '--json'], {
    env: { BILLSYNC_DATA_DIR: dataDir },
  });
  return exitCode === 0 ? [] : [`verify ended with ${exitCode}: ${stdout}${stderr}`];
}

type Inspect = Pick<Parameters<typeof checkInvariants>[0], 'dataDir' | 'logFolder' | 'client'>;

/** The worker goes first, then the rest is looked at while Temporal still answers; Temporal goes last. */
async function endAndInspect(
  product: Product,
  roles: readonly Role[],
  inspect: (what: Inspect) => Promise<readonly Violation[]>,
): Promise<Pick<ProcessesResult, 'violations' | 'exitCodes' | 'orphans'>> {
  const exitCodes: (number | null)[] = [];
  const isApart = roles.includes('temporal');
  if (isApart) await withTemporalBeside(product.dataDir, letWorkflowTasksEnd);
  for (const role of roles) if (role !== 'temporal') exitCodes.push((await product.stop(role)).code);
  const { dataDir, logFolder } = product;
  const violations = isApart
    ? await withTemporalBeside(dataDir, (client) => inspect({ dataDir, logFolder, client }))
    : await inspect({ dataDir, logFolder, client: null });
  if (isApart) exitCodes.push((await product.stop('temporal')).code);
  const orphans = findProcesses(product.temporalServer);
  return { violations, exitCodes, orphans };
}

export const summary =
  'endpoint, worker and Temporal killed at random while a foreign service delivers [60 30 1 | … up]';

/** @throws Error a promise was broken */
export async function main([
  invoices = '60',
  kills = '30',
  seed = '1',
  how = 'apart',
]: readonly string[]): Promise<void> {
  const result = await runProcesses({
    isUp: how === 'up',
    invoices: Number(invoices),
    kills: Number(kills),
    seed: Number(seed),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = brokenPromises(result);
  if (broken.length > 0)
    throw new Error(`${broken.length} promises were broken: ${broken.slice(0, 5).join('; ')}`);
}
