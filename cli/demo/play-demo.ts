/** The demo from curtain to curtain: sets the stage, plays the story, shows the reports and proves them. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { loadSettings } from '../../config/load-settings.js';
import type { Settings } from '../../config/settings.js';
import { openQuarantine } from '../../inbox/quarantine-folder.js';
import { createLogger } from '../../ops/log.js';
import { renderReport } from '../../reports/render/render-report.js';
import { type BilledRow, type Sandbox, startSandbox } from '../../sandbox/service.js';
import { retryOne } from '../ask-temporal.js';
import { CliError, EXIT, printError } from '../errors.js';
import { openPublished, publishedPath } from '../published.js';
import { createRoleContext, type RunningRole } from '../roles/run-role.js';
import { startUpRole } from '../roles/up-role.js';
import { basicAuth, sandboxSettings } from '../roles/up-with-sandbox.js';
import { FEWEST_INVOICES } from './fates.js';
import { tellHappenings } from './happenings.js';
import { createNarrator, type Narrator, renderHappenings, renderProof, renderReports } from './present.js';
import { type ProvedReport, proveReports } from './proof.js';
import { playStory, type Story } from './story.js';

export interface DemoOptions {
  readonly invoices: number;
  readonly seed: number;
  readonly keep: boolean;
  readonly quiet: boolean;
  /** null: a fresh temporary folder. */
  readonly dataDir: string | null;
}

/** More than enough on a slow machine; the demo says what did not settle. */
const SETTLE_WITHIN_MS = 90_000;
const WEBHOOK_USER = 'billing-service';

interface Theatre {
  readonly settings: Settings;
  readonly sandbox: Sandbox;
  readonly running: RunningRole;
  readonly registrationId: string;
  readonly stopping: AbortController;
  close(): Promise<void>;
}

/** @throws CliError (exit 1) when anything is not as it must be */
export async function playDemo(options: DemoOptions): Promise<void> {
  if (options.invoices < FEWEST_INVOICES) {
    throw new CliError(EXIT.usage, `the story needs at least ${FEWEST_INVOICES} invoices`, {
      hint: `billsync demo --invoices ${FEWEST_INVOICES}`,
    });
  }
  const narrator = createNarrator(options);
  narrator.chapter('billsync demo: from a webhook to a cost report, with the faults of real life');
  const theatre = await openTheatre(options, narrator);
  try {
    narrator.chapter(`Billing ${options.invoices} invoices of ${theatre.sandbox.tenants().length} tenants …`);
    const story = await playStory(stageOf(theatre, narrator), options);
    narrator.done('settled', `${options.invoices + 1} invoices, nothing is left to do`);
    await show(theatre, story);
    if (options.keep) await keepUp(theatre, narrator);
  } finally {
    await theatre.close();
  }
}

async function openTheatre(options: DemoOptions, narrator: Narrator): Promise<Theatre> {
  const dataDir =
    options.dataDir === null ? mkdtempSync(join(tmpdir(), 'billsync-demo-')) : resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  narrator.done('data folder', dataDir);
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort(new Error('stopping')));
  process.once('SIGTERM', () => stopping.abort(new Error('stopping')));

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
    stopping: stopping.signal,
  });
  try {
    const running = await startUpRole(context);
    narrator.done('temporal', running.addresses.temporal ?? '');
    narrator.done('endpoint', running.addresses.webhook ?? '');
    narrator.done('dashboard', running.addresses.dashboard ?? '');
    const registrationId = register(sandbox, running, password);
    const close = async (): Promise<void> => {
      await running.close();
      await context.alerts.close();
      await sandbox.close();
    };
    return { settings, sandbox, running, registrationId, stopping, close };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** Nothing of the caller's settings reaches the demo but where logs go: it must never touch a real service. */
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
      // Troubles are what the demo is made of; the narrator tells of them, the log would tell of nothing else.
      LOG_LEVEL: process.env.LOG_LEVEL || 'silent',
    },
  });
}

function register(sandbox: Sandbox, running: RunningRole, password: string): string {
  const name = 'billsync demo';
  const settings = {
    name,
    url: running.addresses.webhook ?? '',
    headers: { authorization: basicAuth(WEBHOOK_USER, password) },
  };
  const known = sandbox.webhooks().find((registration) => registration.name === name);
  if (known === undefined) return sandbox.registerWebhook({ ...settings, active: true }).registrationId;
  return sandbox.editWebhook(known.registrationId, settings).registrationId;
}

function stageOf({ settings, sandbox, registrationId }: Theatre, narrator: Narrator) {
  return {
    sandbox,
    registrationId,
    states: watchStates(settings),
    quarantined: async () => (await openQuarantine(join(settings.dataDir, 'quarantine'))).list(),
    retry: (invoiceId: string) => retryOne(settings, { partnerId: sandbox.partnerId, invoiceId }),
    progress: narrator.progress,
    deadline: Date.now() + SETTLE_WITHIN_MS,
  };
}

/** Asks the published file again only when it was replaced: the machine has better things to do meanwhile. */
function watchStates(settings: Settings): () => Promise<ReadonlyMap<string, string>> {
  let seen = 0;
  let states: ReadonlyMap<string, string> = new Map();
  return async () => {
    const replaced = statSync(publishedPath(settings), { throwIfNoEntry: false })?.ino ?? 0;
    if (replaced !== seen) {
      states = await statesOf(settings);
      seen = replaced;
    }
    return states;
  };
}

/** Empty until the first publication. */
async function statesOf(settings: Settings): Promise<ReadonlyMap<string, string>> {
  try {
    const published = await openPublished(settings);
    try {
      const rows = await published.ask('invoices-list', { states: null, tenants: null, since: null });
      return new Map(rows.map((row) => [String(row.invoice_id), String(row.state)]));
    } finally {
      published.close();
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'NotPublishedError') return new Map();
    throw error;
  }
}

/** @throws CliError (exit 1) */
async function show({ settings, sandbox }: Theatre, story: Story): Promise<void> {
  const published = await openPublished(settings);
  const happenings = await tellHappenings({
    sandbox,
    story,
    published,
  }).finally(() => published.close());

  const billed: BilledRow[] = [];
  for await (const row of sandbox.billedShipments()) billed.push(row);
  const proved = await proveReports(publishedPath(settings), billed);
  const pages = await writePages(settings, proved);

  process.stdout.write(
    `\n${renderHappenings(happenings)}\n\n${await renderReports(proved)}\n\n${renderProof(proved)}\n\n`,
  );
  process.stdout.write(`Reports as a page:   ${pages.join('\n                     ')}\n`);
  process.stdout.write(`For any DuckDB tool: ${publishedPath(settings)}\n`);
  const failed = [
    ...happenings.filter(({ isProved }) => !isProved).map(({ kind }) => kind),
    ...proved.filter(({ differences }) => differences.length > 0).map(({ name }) => `report ${name}`),
  ];
  if (failed.length > 0)
    throw new CliError(EXIT.checkFailed, 'the demo is not proved', { subject: failed.join(', ') });
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

async function keepUp({ running, sandbox, settings, stopping }: Theatre, narrator: Narrator): Promise<void> {
  narrator.chapter('Everything stays up until Ctrl-C');
  narrator.done('dashboard', running.addresses.dashboard ?? '');
  narrator.done('billing service', sandbox.pageUrl);
  narrator.done('endpoint', running.addresses.webhook ?? '');
  narrator.done('temporal', running.addresses.temporal ?? '');
  narrator.done('commands', `BILLSYNC_DATA_DIR=${settings.dataDir} billsync invoices list`);
  if (stopping.signal.aborted) return;
  await new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    // Something must keep the process alive until then, whatever the parts hold.
    const alive = setInterval(() => undefined, 60_000);
    stopping.signal.addEventListener('abort', () => clearInterval(alive), { once: true });
  });
}
