/**
 * Thirty faults, each injected into a running `up` beside the sandbox: within a minute an alert, the dashboard, a metric
 * and a command say what is wrong and what to do. `npm run chaos -- watch [table]` writes the table of docs/faults-told.md.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { anchorOf } from '../../ops/runbook/runbook.js';
import { INVOICE_FAULTS } from '../support/watched/invoice-faults.js';
import { MACHINE_FAULTS } from '../support/watched/machine-faults.js';
import { isTold, playFault, type Told } from '../support/watched/play-fault.js';
import { openStage } from '../support/watched/stage.js';

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'faults-told.md');

async function playAll(): Promise<readonly Told[]> {
  const stage = await openStage();
  try {
    const told = [...(await Promise.all(INVOICE_FAULTS.map((fault) => playFault(stage, fault))))];
    for (const each of told) say(each);
    for (const fault of MACHINE_FAULTS) {
      const outcome = await playFault(stage, fault);
      say(outcome);
      told.push(outcome);
    }
    return told;
  } finally {
    await stage.close();
  }
}

function say({ fault, title, alert, dashboard, metric, command }: Told): void {
  process.stderr.write(`${fault.name}: ${JSON.stringify({ alert, dashboard, metric, command, title })}\n`);
}

function pageOf(told: readonly Told[]): string {
  const after = (seconds: number | null) => (seconds === null ? '**not said**' : `${seconds.toFixed(0)} s`);
  const rows = told.map(
    ({ fault, alert, dashboard, metric, command }) =>
      `| ${fault.name} | ${fault.what} | [\`${fault.alert}\`](reference/runbook.md#${anchorOf(fault.alert)}) | ${[alert, dashboard, metric, command].map(after).join(' | ')} |`,
  );
  return [
    '# How soon each fault is told\n\n<!-- Made by `npm run chaos -- watch table`. -->\n',
    'Each fault was injected into a running `billsync up` beside the sandbox. The seconds are those from the fault until the alert was',
    'raised, the page `/alerts` showed it with its link to the runbook, `/metrics` counted it, and `billsync alerts list` named it. The',
    'faults of one invoice were played together, the others one after the other, each mended before the next.\n',
    '| Fault | What was done | Alert | raised | dashboard | metric | command |\n| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

export const summary =
  'thirty faults: an alert, the dashboard, a metric and a command say each within a minute [table]';

/** @throws Error a fault was not told by all four */
export async function main([table]: readonly string[]): Promise<void> {
  const told = await playAll();
  if (table === 'table') await writeFile(PAGE, pageOf(told));
  const untold = told.filter((each) => !isTold(each)).map(({ fault }) => fault.name);
  process.stdout.write(
    `${JSON.stringify({ faults: told.length, told: told.length - untold.length, untold })}\n`,
  );
  if (untold.length > 0) throw new Error(`Not told within a minute: ${untold.join(', ')}`);
}
