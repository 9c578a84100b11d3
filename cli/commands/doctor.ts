/** `billsync doctor`: tries every connection for real and says what to do about each that does not work. */

import type { Command } from 'commander';
import { CHECKS } from '../doctor/checks.js';
import type { Finding } from '../doctor/finding.js';
import { describeError, EXIT } from '../errors.js';
import { paint } from '../terminal-text.js';
import { contextOf, verb, withJson } from '../verb.js';

interface Diagnosis extends Finding {
  readonly check: string;
  readonly exit_code: number;
}

export function doctorCommand(): Command {
  const command = verb(
    'doctor',
    'Tries settings, data folder, billing service, clock, Temporal, endpoint, warehouse and archive for real.',
    'billsync doctor --json',
  );
  return withJson(command, { ndjson: true }).action(async (_flags: unknown, command: Command) => {
    const { settings, output } = contextOf(command);
    const diagnoses: Diagnosis[] = [];
    for (const { name, isInFolder, run } of CHECKS) {
      const isKeptOut = isInFolder && diagnoses[0]?.result === 'failed';
      const diagnosis = await diagnose(name, isKeptOut ? notTried : () => run(settings));
      diagnoses.push(diagnosis);
      if (output.form === 'table') output.text(`${line(diagnosis)}\n`);
    }
    if (output.form !== 'table') output.rows(diagnoses, []);
    process.exitCode = exitCodeOf(diagnoses);
  });
}

/** Nothing is made in a folder that is another's, or that cannot be written. */
async function notTried(): Promise<Finding> {
  return { result: 'note', detail: 'not tried: the data folder comes first', hint: null };
}

async function diagnose(check: string, run: () => Promise<Finding>): Promise<Diagnosis> {
  try {
    const finding = await run();
    return { check, ...finding, exit_code: finding.result === 'failed' ? EXIT.checkFailed : EXIT.done };
  } catch (error) {
    const { what, subject, hint, exitCode } = describeError(error);
    const detail = subject === null ? what : `${what}: ${subject}`;
    return { check, result: 'failed', detail, hint, exit_code: exitCode };
  }
}

function line({ check, result, detail, hint }: Diagnosis): string {
  const mark = { ok: paint('green', '✓'), note: paint('yellow', '!'), failed: paint('red', '✗') }[result];
  const advice = hint === null ? '' : `\n    → ${hint}`;
  return `${mark} ${check.padEnd(16)} ${detail.replace(/\s*\n\s*/g, '; ')}${advice}`;
}

/** The one kind of trouble when all that failed is of that kind, else "a check failed". */
function exitCodeOf(diagnoses: readonly Diagnosis[]): number {
  const codes = new Set(
    diagnoses.filter(({ result }) => result === 'failed').map(({ exit_code }) => exit_code),
  );
  const [only] = codes;
  if (only === undefined) return EXIT.done;
  return codes.size === 1 && only !== EXIT.bug ? only : EXIT.checkFailed;
}
