/** Runs the checks of `doctor` in their order and turns what they throw into what a person can act on. */

import type { Settings } from '../../lib/config/settings.ts';
import { CliError, describeError, EXIT } from '../errors.ts';
import { CHECKS } from './checks.ts';
import type { Check, Finding } from './connection-checks.ts';

export interface Diagnosis extends Finding {
  readonly check: string;
  readonly exit_code: number;
}

/** Limit for all checks together, because a person waits for them. */
const LIMIT_MS = 45_000;
/** Limit for each check after that: enough for checks of this machine. */
const MIN_MS = 5_000;

/** Each as soon as it is known: a connection that hangs must not hold back what was found before it. */
export async function* diagnose(
  settings: Settings,
  {
    checks = CHECKS,
    limitMs = LIMIT_MS,
    minMs = MIN_MS,
  }: { readonly checks?: readonly Check[]; readonly limitMs?: number; readonly minMs?: number } = {},
): AsyncGenerator<Diagnosis> {
  const untilMs = performance.now() + limitMs;
  let isFolderOurs = true;
  for (const { name, isInFolder, run } of checks) {
    const leftMs = Math.max(minMs, untilMs - performance.now());
    const tried = isInFolder && !isFolderOurs ? notTried : () => inTime(run(settings), leftMs);
    const diagnosis = await diagnoseOne(name, tried);
    if (name === 'data folder') isFolderOurs = diagnosis.result !== 'failed';
    yield diagnosis;
  }
}

/** @throws CliError (exit 5) the check takes longer */
async function inTime(finding: Promise<Finding>, limitMs: number): Promise<Finding> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const seconds = Math.round(limitMs / 1_000);
    const error = new CliError(EXIT.unreachable, `no answer within ${seconds} s`, {
      hint: 'what it asks takes the connection and does not answer; look at it there',
    });
    timer = setTimeout(() => reject(error), limitMs);
  });
  return Promise.race([finding, late]).finally(() => clearTimeout(timer));
}

/** Nothing is made in a folder that is another's, or that cannot be written. */
async function notTried(): Promise<Finding> {
  return { result: 'note', detail: 'not tried: the data folder comes first', hint: null };
}

async function diagnoseOne(check: string, run: () => Promise<Finding>): Promise<Diagnosis> {
  try {
    const finding = await run();
    return { check, ...finding, exit_code: finding.result === 'failed' ? EXIT.checkFailed : EXIT.done };
  } catch (error) {
    const { what, subject, hint, exitCode } = describeError(error);
    const detail = subject === null ? what : `${what}: ${subject}`;
    return { check, result: 'failed', detail, hint, exit_code: exitCode };
  }
}

/** The one kind of trouble when all that failed is of that kind, else "a check failed". */
export function exitCodeOf(diagnoses: readonly Diagnosis[]): number {
  const codes = new Set(
    diagnoses.filter(({ result }) => result === 'failed').map(({ exit_code }) => exit_code),
  );
  const [only] = codes;
  if (only === undefined) return EXIT.done;
  return codes.size === 1 && only !== EXIT.bug ? only : EXIT.checkFailed;
}
