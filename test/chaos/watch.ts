/**
 * Thirty faults, each injected into a running `up` beside the sandbox: within a minute an alert, the dashboard, a metric
 * and a command say what is wrong and what to do; then the cure of the runbook ends the alert. `npm run chaos -- watch table` writes
 * docs/faults-told.md; `watch NAME…` plays those faults alone.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { anchorOf } from '../../ops/runbook/runbook.js';
import { INVOICE_FAULTS } from '../support/watched/invoice-faults.js';
import { MACHINE_FAULTS } from '../support/watched/machine-faults.js';
import { isTold, playFault, type Told } from '../support/watched/play-fault.js';
import { openStage } from '../support/watched/stage.js';
import type { WatchedFault } from '../support/watched/watched-fault.js';

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'faults-told.md');

async function play(names: readonly string[]): Promise<readonly Told[]> {
  const isWanted = ({ name }: WatchedFault) => names.length === 0 || names.includes(name);
  const stage = await openStage();
  try {
    const ofInvoices = INVOICE_FAULTS.filter(isWanted);
    const told = [...(await Promise.all(ofInvoices.map((fault) => playFault(stage, fault))))];
    for (const each of told) say(each);
    for (const fault of MACHINE_FAULTS.filter(isWanted)) {
      const outcome = await playFault(stage, fault);
      say(outcome);
      told.push(outcome);
    }
    return told;
  } finally {
    await stage.close();
  }
}

function say({ fault, ...told }: Told): void {
  process.stderr.write(`${fault.name}: ${JSON.stringify(told)}\n`);
}

function pageOf(told: readonly Told[]): string {
  const after = (seconds: number | null) => (seconds === null ? '**no**' : `${seconds.toFixed(0)} s`);
  const rows = told.map(
    ({ fault, alert, dashboard, metric, command, over }) =>
      `| ${fault.name} | ${fault.what} | [\`${fault.alert}\`](reference/runbook.md#${anchorOf(fault.alert)}) | ${[alert, dashboard, metric, command, over].map(after).join(' | ')} |`,
  );
  return [
    '# How soon each fault is told\n\n<!-- Made by `npm run chaos -- watch table`. -->\n',
    'Each fault was injected into a running `billsync up` beside the sandbox. The seconds are those from the fault until the alert was',
    'raised, the page `/alerts` showed it with its link to the runbook, `/metrics` counted it, and `billsync alerts list` named it. The',
    'faults of one invoice were played together, the others one after the other. Then who was to blame took the fault away (the service',
    'exports the invoice again, answers again), the runbook’s lines were followed with its commands, and the last column',
    'says how long it took from there until the alert was over; what stands still is ended by `up` itself, after 30 s.\n',
    '| Fault | What was done | Alert | raised | dashboard | metric | command | over |\n| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

export const summary =
  'thirty faults: an alert, the dashboard, a metric and a command say each within a minute, and its cure ends it [table | NAME…]';

/** @throws Error a fault was not told by all four, or its cure did not end the alert */
export async function main(words: readonly string[]): Promise<void> {
  const isTable = words[0] === 'table';
  const told = await play(isTable ? [] : words);
  if (isTable) await writeFile(PAGE, pageOf(told));
  const untold = told.filter((each) => !isTold(each)).map(({ fault }) => fault.name);
  const uncured = told.filter(({ over }) => over === null).map(({ fault }) => fault.name);
  process.stdout.write(
    `${JSON.stringify({ faults: told.length, told: told.length - untold.length, untold, uncured })}\n`,
  );
  if (uncured.length > 0) throw new Error(`Not over after its cure: ${uncured.join(', ')}`);
  if (untold.length > 0) throw new Error(`Not told within a minute: ${untold.join(', ')}`);
}
