/**
 * Thirty faults, each injected into a running `up` beside the sandbox: within a minute an alert, the dashboard, a metric
 * and a command report it; then the cure of the runbook ends the alert. `npm run chaos -- watch table` writes
 * docs/fault-alerts.md; `watch NAME…` plays those faults alone.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { anchorOf } from '../../lib/alerts/alert-names.ts';
import { INVOICE_FAULTS } from './faults/invoice-faults.ts';
import { MACHINE_FAULTS } from './faults/machine-faults.ts';
import { type FaultReport, isReported, openStage, playFault } from './faults/play-fault.ts';
import { RARE_FAULTS } from './faults/rare-faults.ts';
import { RARE_MACHINE_FAULTS } from './faults/rare-machine-faults.ts';
import { openRareStage } from './faults/rare-stage.ts';

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'fault-alerts.md');

type IsSelected = (fault: { readonly name: string }) => boolean;

async function playThirty(isSelected: IsSelected): Promise<readonly FaultReport[]> {
  const [ofInvoices, ofMachine] = [INVOICE_FAULTS.filter(isSelected), MACHINE_FAULTS.filter(isSelected)];
  if (ofInvoices.length + ofMachine.length === 0) return [];
  const stage = await openStage();
  try {
    const reports = await Promise.all(ofInvoices.map((fault) => playFault(stage, fault)));
    for (const report of reports) print(report);
    return [...reports, ...(await inTurn(ofMachine, (fault) => playFault(stage, fault)))];
  } finally {
    await stage.close();
  }
}

/** Some of them are checked once a minute, or only on request. */
async function playRare(isSelected: IsSelected): Promise<readonly FaultReport[]> {
  const faults = [...RARE_FAULTS, ...RARE_MACHINE_FAULTS].filter(isSelected);
  if (faults.length === 0) return [];
  const stage = await openRareStage();
  try {
    return await inTurn(faults, (fault) => playFault(stage, fault, { withinMs: fault.withinMs ?? 150_000 }));
  } finally {
    await stage.close();
  }
}

async function inTurn<F>(
  faults: readonly F[],
  play: (fault: F) => Promise<FaultReport>,
): Promise<readonly FaultReport[]> {
  const reports: FaultReport[] = [];
  for (const fault of faults) {
    const report = await play(fault);
    print(report);
    reports.push(report);
  }
  return reports;
}

function print({ fault, ...times }: FaultReport): void {
  process.stderr.write(`${fault.name}: ${JSON.stringify(times)}\n`);
}

function pageOf(thirty: readonly FaultReport[], rare: readonly FaultReport[]): string {
  return [
    '# Time until each fault raises an alert\n\n<!-- Made by `npm run chaos -- watch table`. -->\n',
    'Each fault was injected into a running `billsync up` with the sandbox. The columns give the seconds from the fault until the alert was',
    'raised, until the page `/alerts` showed it with a link to the runbook, until `/metrics` counted it, and until `billsync alerts list`',
    'listed it. The faults of one invoice were injected together, the others one after another. Then the cause was removed, the steps of',
    'the runbook were followed, and the last column gives the seconds until the alert was over, or acknowledged if its condition stays. `up` itself kills a process that hangs,',
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

function tableOf(reports: readonly FaultReport[]): readonly string[] {
  const after = (seconds: number | null) => (seconds === null ? '**no**' : `${seconds.toFixed(0)} s`);
  const rows = reports.map(
    ({ fault, alert, dashboard, metric, command, over }) =>
      `| ${fault.name} | ${fault.what} | [\`${fault.alert}\`](reference/runbook.md#${anchorOf(fault.alert)}) | ${[alert, dashboard, metric, command, over].map(after).join(' | ')} |`,
  );
  return [
    '| Fault | What was done | Alert | raised | dashboard | metric | command | over |\n| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ];
}

export const summary =
  'thirty faults: an alert, the dashboard, a metric and a command report each within a minute, and its cure ends it [table | NAME…]';

export async function main(names: readonly string[]): Promise<void> {
  const isTable = names[0] === 'table';
  const isSelected: IsSelected = ({ name }) => isTable || names.length === 0 || names.includes(name);
  const thirty = await playThirty(isSelected);
  const rare = await playRare(isSelected);
  const reports = [...thirty, ...rare];
  if (isTable) await writeFile(PAGE, pageOf(thirty, rare));
  const unreported = reports.filter((each) => !isReported(each)).map(({ fault }) => fault.name);
  const uncured = reports.filter(({ over }) => over === null).map(({ fault }) => fault.name);
  process.stdout.write(
    `${JSON.stringify({ faults: reports.length, reported: reports.length - unreported.length, unreported, uncured })}\n`,
  );
  if (uncured.length > 0) throw new Error(`Not ended by its cure: ${uncured.join(', ')}`);
  if (unreported.length > 0) throw new Error(`Not reported within a minute: ${unreported.join(', ')}`);
}
