import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadSettings } from '../../lib/config/load-settings.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { createLogger } from '../../lib/log/log.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { type BilledRow, type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { CliError, EXIT, printError } from '../errors.ts';
import { publishedPath, withPublished, withPublishedIfAny } from '../published.ts';
import { createRoleContext, type RunningRole } from '../roles/run-role.ts';
import { startUpRole } from '../roles/up-role.ts';
import { registerEndpoint, sandboxSettings } from '../roles/up-with-sandbox.ts';
import { retryOneInvoice } from '../with-temporal.ts';
import { gatherOutcomes, type Outcome } from './outcomes.ts';
import { createNarrator, type Narrator, renderOutcomes, renderProof, renderReports } from './present.ts';
import { type ProvedReport, proveReports } from './proof.ts';
import { type DemoContext, playStory, type Story, waitWhileChanging } from './story.ts';

export interface DemoOptions {
  readonly invoices: number;
  readonly seed: number;
  readonly keep: boolean;
  readonly quiet: boolean;
  readonly dataDir: string;
}

const PATIENCE_MS = 90_000;

export async function playDemo(options: DemoOptions): Promise<void> {
  const narrator = createNarrator(options);
  const stopping = untilSignal();
  try {
    await playChapters(options, narrator, stopping.signal);
  } catch (error) {
    // The shell must see that the signal ended the process.
    const signal = stopping.received();
    if (signal === null) throw error;
    stopping.forget();
    process.kill(process.pid, signal);
  }
}

async function playChapters(options: DemoOptions, narrator: Narrator, stopping: AbortSignal): Promise<void> {
  narrator.chapter('billsync demo: from a webhook to a cost report, with faults that occur in practice');
  const began = performance.now();
  const services = await openDemoServices({ ...options, stopping }, narrator);
  try {
    const tenants = services.sandbox.tenants().length;
    narrator.chapter(`Billing ${options.invoices} invoices of ${tenants} tenants, with faults`);
    const context = stageOf(services, narrator, stopping);
    const story = await playStory(context, options);
    const outcomes = await proveOutcomes(context, services, story);
    const seconds = Math.round((performance.now() - began) / 1000);
    narrator.done('settled', `${options.invoices + 1} invoices in ${seconds} seconds`);
    await showReports(services, outcomes);
    if (options.keep) await keepUp(services, narrator, stopping);
  } finally {
    await services.close();
  }
}

function untilSignal() {
  const stopping = new AbortController();
  let received: NodeJS.Signals | null = null;
  const stop = (signal: NodeJS.Signals): void => {
    if (received !== null) process.exit(EXIT.checkFailed);
    received = signal;
    stopping.abort(new Error('stopping'));
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return {
    signal: stopping.signal,
    received: () => received,
    forget: () => process.off('SIGINT', stop).off('SIGTERM', stop),
  };
}

function stageOf(
  { settings, sandbox, registrationId }: DemoServices,
  narrator: Narrator,
  stopping: AbortSignal,
): DemoContext {
  return {
    sandbox,
    registrationId,
    states: () => statesOf(settings),
    quarantined: async () => (await openQuarantine(dataFolder(settings.dataDir).quarantine)).list(),
    retry: (invoiceId: string) => retryOneInvoice(settings, { partnerId: sandbox.partnerId, invoiceId }),
    progress: narrator.progress,
    patienceMs: PATIENCE_MS,
    stopping,
  };
}

/** The last events are published a moment after they were received. */
async function proveOutcomes(
  context: DemoContext,
  { settings, sandbox }: DemoServices,
  story: Story,
): Promise<readonly Outcome[]> {
  let outcomes: readonly Outcome[] = [];
  const check = async () => {
    outcomes = await withPublished(settings, (published) => gatherOutcomes({ sandbox, story, published }));
    const open = outcomes.filter(({ isProved }) => !isProved).map(({ kind }) => kind);
    return { answer: outcomes, open };
  };
  try {
    return await waitWhileChanging({ ...context, patienceMs: 20_000 }, check);
  } catch (error) {
    if (error instanceof CliError) return outcomes;
    throw error;
  }
}

async function showReports({ settings, sandbox }: DemoServices, outcomes: readonly Outcome[]): Promise<void> {
  const billed: BilledRow[] = [];
  for await (const row of sandbox.billedShipments()) billed.push(row);
  const proved = await proveReports(publishedPath(settings), billed);
  const pages = await writePages(settings, proved);

  process.stdout.write(
    `\n${renderOutcomes(outcomes)}\n\n${await renderReports(proved)}\n\n${renderProof(proved)}\n\n`,
  );
  process.stdout.write(`Reports as a page:   ${pages.join('\n                     ')}\n`);
  process.stdout.write(`For any DuckDB tool: ${publishedPath(settings)}\n`);
  const failed = [
    ...outcomes.filter(({ isProved }) => !isProved).map(({ kind }) => kind),
    ...proved.filter(({ differences }) => differences.length > 0).map(({ name }) => `report ${name}`),
  ];
  if (failed.length > 0)
    throw new CliError(EXIT.checkFailed, 'the demo is not proved', {
      subject: failed.join(', '),
      hint: 'the lines marked ✗ show what was expected',
    });
}

async function writePages(settings: Settings, proved: readonly ProvedReport[]): Promise<readonly string[]> {
  const pages: string[] = [];
  for (const { name, level, report } of proved) {
    if (level !== 'tenant') continue;
    const path = join(settings.dataDir, `report-${name}.html`);
    const { body } = await renderReport(report, 'html');
    writeFileSync(path, body);
    pages.push(path);
  }
  return pages;
}

async function keepUp(
  { running, sandbox, settings }: DemoServices,
  narrator: Narrator,
  stopping: AbortSignal,
): Promise<void> {
  narrator.chapter('Running until Ctrl-C');
  narrator.done('dashboard', running.addresses.dashboard ?? '');
  narrator.done('billing service', sandbox.pageUrl);
  narrator.done('endpoint', running.addresses.webhook ?? '');
  narrator.done('temporal', running.addresses.temporal ?? '');
  narrator.done('commands', `BILLSYNC_DATA_DIR=${settings.dataDir} billsync invoices list`);
  while (!stopping.aborted) await sleep(60_000, undefined, { signal: stopping }).catch(() => undefined);
}

interface DemoServicesOptions {
  readonly seed: number;
  readonly dataDir: string;
  readonly stopping: AbortSignal;
}

interface DemoServices {
  readonly settings: Settings;
  readonly sandbox: Sandbox;
  readonly running: RunningRole;
  readonly registrationId: string;
  close(): Promise<void>;
}

const WEBHOOK_USER = 'billing-service';

async function openDemoServices(options: DemoServicesOptions, narrator: Narrator): Promise<DemoServices> {
  const { dataDir } = options;
  narrator.done('data folder', dataDir);
  const sandbox = await startSandbox({
    dataDir: join(dataDir, 'sandbox'),
    seed: options.seed,
    retryDelayMs: 500,
    tokenLifetimeSeconds: 20,
  });
  narrator.done('billing service', sandbox.pageUrl);
  sandbox.faults.clear();
  const password = randomBytes(18).toString('base64url');
  const settings = demoSettings({ dataDir, sandbox, password });
  const context = createRoleContext({
    settings,
    role: 'demo',
    log: createLogger(settings, 'demo'),
    fatal: (error) => process.exit(printError(error, { verbose: false })),
    stopping: options.stopping,
  });
  try {
    const running = await startUpRole(context);
    narrator.done('temporal', running.addresses.temporal ?? '');
    narrator.done('endpoint', running.addresses.webhook ?? '');
    narrator.done('dashboard', running.addresses.dashboard ?? '');
    const registrationId = registerEndpoint(sandbox, {
      ...{ name: 'billsync demo', url: running.addresses.webhook ?? '', user: WEBHOOK_USER, password },
    });
    const close = async (): Promise<void> => {
      await running.close();
      await context.alerts.close();
      await sandbox.close();
    };
    return { settings, sandbox, running, registrationId, close };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** Only the log level comes from the environment, so that the demo never touches a real service. */
function demoSettings(demo: {
  readonly dataDir: string;
  readonly sandbox: Sandbox;
  readonly password: string;
}): Settings {
  return loadSettings({
    env: {},
    cwd: demo.dataDir,
    terminal: process.stderr.isTTY === true,
    flags: {
      ...sandboxSettings(demo.sandbox),
      BILLSYNC_DATA_DIR: demo.dataDir,
      BILLSYNC_WEBHOOK_HOST: '127.0.0.1',
      BILLSYNC_WEBHOOK_PORT: '0',
      BILLSYNC_WEBHOOK_BASIC_AUTH: `${WEBHOOK_USER}:${demo.password}`,
      BILLSYNC_ADMIN_PORT: '0',
      BILLSYNC_OVERDUE_AFTER: '3s,4s',
      LOG_LEVEL: process.env.LOG_LEVEL || 'silent',
    },
  });
}

async function statesOf(settings: Settings): Promise<ReadonlyMap<string, string>> {
  const all = { states: null, tenants: null, since: null };
  const rows = await withPublishedIfAny(settings, (published) => published.query('invoices-list', all));
  return new Map(rows?.map((row) => [String(row.invoice_id), String(row.state)]));
}
