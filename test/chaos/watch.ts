/**
 * Thirty faults, each injected into a running `up` beside the sandbox: within a minute an alert, the dashboard, a metric
 * and a command say what is wrong and what to do; then the cure of the runbook ends the alert. `npm run chaos -- watch table` writes
 * docs/fault-alerts.md; `watch NAME…` plays those faults alone.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { anchorOf } from '../../lib/alerts/runbook/runbook.ts';
import { INVOICE_FAULTS } from './faults/invoice-faults.ts';
import { MACHINE_FAULTS } from './faults/machine-faults.ts';
import { isTold, openStage, playFault, type Told } from './faults/play-fault.ts';
import { RARE_FAULTS } from './faults/rare-faults.ts';
import { RARE_MACHINE_FAULTS } from './faults/rare-machine-faults.ts';
import { openRareStage } from './faults/rare-stage.ts';

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'fault-alerts.md');

type IsWanted = (fault: { readonly name: string }) => boolean;

async function playThirty(isWanted: IsWanted): Promise<readonly Told[]> {
  const [ofInvoices, ofMachine] = [INVOICE_FAULTS.filter(isWanted), MACHINE_FAULTS.filter(isWanted)];
  if (ofInvoices.length + ofMachine.length === 0) return [];
  const stage = await openStage();
  try {
    const told = await Promise.all(ofInvoices.map((fault) => playFault(stage, fault)));
    for (const each of told) say(each);
    return [...told, ...(await inTurn(ofMachine, (fault) => playFault(stage, fault)))];
  } finally {
    await stage.close();
  }
}

/** Some of them are looked at once a minute, or only when somebody asks. */
async function playRare(isWanted: IsWanted): Promise<readonly Told[]> {
  const faults = [...RARE_FAULTS, ...RARE_MACHINE_FAULTS].filter(isWanted);
  if (faults.length === 0) return [];
  const stage = await openRareStage();
  try {
    return await inTurn(faults, (fault) => playFault(stage, fault, { withinMs: fault.withinMs ?? 150_000 }));
  } finally {
    await stage.close();
  }
}

async function inTurn<F>(faults: readonly F[], play: (fault: F) => Promise<Told>): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const fault of faults) {
    told.push(await play(fault));
    for (const each of told.slice(-1)) say(each);
  }
  return told;
}

function say({ fault, ...told }: Told): void {
  process.stderr.write(`${fault.name}: ${JSON.stringify(told)}\n`);
}

function pageOf(thirty: readonly Told[], rare: readonly Told[]): string {
  return [
    '# Time until each fault raises an alert\n\n<!-- Made by `npm run chaos -- watch table`. -->\n',
    'Each fault was injected into a running `billsync up` with the sandbox. The columns give the seconds from the fault until the alert was',
    'raised, until the page `/alerts` showed it with a link to the runbook, until `/metrics` counted it, and until `billsync alerts list`',
    'listed it. The faults of one invoice were injected together, the others one after another. Then the cause was removed, the steps of',
    'the runbook were followed, and the last column gives the seconds until the alert was over. `up` itself kills a process that hangs,',
    'after 30 s.\n',
    ...tableOf(thirty),
    '\n## The other alerts\n',
    'The same for the alerts that none of these faults raises. Checks that run once a minute or once an hour raise their alerts later. For a',
    'fault that the reconciliation finds, the seconds count from the end of `billsync reconcile --wait`.\n',
    ...tableOf(rare),
    BY_HAND,
    '',
  ].join('\n');
}

const BY_HAND = `
Tested by hand on 2026-11-23: \`forwarder/partner-unknown\` (no token since the start, no \`BILLSYNC_PARTNER_ID\`) was raised after 20 s and was
over 4 s after the service issued tokens. Alerts of Prometheus, with Prometheus 2.42, \`deploy/prometheus/rules.yml\` and a scrape every 5 s:
\`component\` (Temporal stopped with SIGSTOP) fired after two minutes and was over within 12 s of SIGCONT; \`down\` (\`up\` ended) fired after one
minute and was over when \`up\` was ready again. \`endpoint/certificate\` was tested with \`promtool test rules\` only.

\`disk\`, an alert of the worker, was not observed: with every flush failing (EIO) the endpoint ended first, and \`inbox/unwritable\` and \`process\`
were listed within seconds.`;

function tableOf(told: readonly Told[]): readonly string[] {
  const after = (seconds: number | null) => (seconds === null ? '**no**' : `${seconds.toFixed(0)} s`);
  const rows = told.map(
    ({ fault, alert, dashboard, metric, command, over }) =>
      `| ${fault.name} | ${fault.what} | [\`${fault.alert}\`](reference/runbook.md#${anchorOf(fault.alert)}) | ${[alert, dashboard, metric, command, over].map(after).join(' | ')} |`,
  );
  return [
    '| Fault | What was done | Alert | raised | dashboard | metric | command | over |\n| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

export const summary =
  'thirty faults: an alert, the dashboard, a metric and a command say each within a minute, and its cure ends it [table | NAME…]';

/** @throws Error a fault was not told by all four, or its cure did not end the alert */
export async function main(words: readonly string[]): Promise<void> {
  const isTable = words[0] === 'table';
  const isWanted: IsWanted = ({ name }) => isTable || words.length === 0 || words.includes(name);
  const thirty = await playThirty(isWanted);
  const rare = await playRare(isWanted);
  const told = [...thirty, ...rare];
  if (isTable) await writeFile(PAGE, pageOf(thirty, rare));
  const untold = told.filter((each) => !isTold(each)).map(({ fault }) => fault.name);
  const uncured = told.filter(({ over }) => over === null).map(({ fault }) => fault.name);
  process.stdout.write(
    `${JSON.stringify({ faults: told.length, told: told.length - untold.length, untold, uncured })}\n`,
  );
  if (uncured.length > 0) throw new Error(`Not over after its cure: ${uncured.join(', ')}`);
  if (untold.length > 0) throw new Error(`Not told within a minute: ${untold.join(', ')}`);
}
