import type { Settings } from '../../lib/config/settings.ts';
import { CliError, describeError, EXIT } from '../errors.ts';
import { askRunning } from './ask-running.ts';
import { CHECKS } from './checks.ts';
import type { Check, Finding } from './connection-checks.ts';

export interface Diagnosis extends Finding {
  readonly check: string;
  readonly exit_code: number;
}

const LIMIT_MS = 45_000;
const MIN_MS = 5_000;

/**
 * Yields each result as soon as it is known, so that a hung connection does not hold back earlier ones. What a running process has
 * found counts; only the rest is tested here.
 */
export async function* diagnose(
  settings: Settings,
  {
    checks = CHECKS,
    limitMs = LIMIT_MS,
    minMs = MIN_MS,
  }: { readonly checks?: readonly Check[]; readonly limitMs?: number; readonly minMs?: number } = {},
): AsyncGenerator<Diagnosis> {
  const untilMs = performance.now() + limitMs;
  let isFolderUsable = true;
  // The check of the inbox reports what waits to be forwarded.
  const named = new Set(['forwarder', ...checks.flatMap(({ component }) => component ?? [])]);
  const running = await askRunning(settings, named);
  yield { check: 'processes', ...running.finding, exit_code: exitCodeOfResult(running.finding) };
  for (const { name, component, isInFolder, run } of checks) {
    const said = component === undefined ? null : running.says(component);
    if (said !== null) {
      yield { check: name, ...said, exit_code: exitCodeOfResult(said) };
      continue;
    }
    const leftMs = Math.max(minMs, untilMs - performance.now());
    const tried = isInFolder && !isFolderUsable ? skip : () => inTime(run(settings), leftMs);
    const diagnosis = await diagnoseOne(name, tried);
    if (name === 'data folder') isFolderUsable = diagnosis.result !== 'failed';
    yield diagnosis;
  }
}

async function inTime(finding: Promise<Finding>, limitMs: number): Promise<Finding> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const seconds = Math.round(limitMs / 1_000);
    const error = new CliError(EXIT.unreachable, `no answer within ${seconds} s`, {
      hint: 'the server accepts the connection and does not answer; check it there',
    });
    timer = setTimeout(() => reject(error), limitMs);
  });
  return Promise.race([finding, late]).finally(() => clearTimeout(timer));
}

async function skip(): Promise<Finding> {
  return { result: 'note', detail: 'skipped because the check of the data folder failed', hint: null };
}

async function diagnoseOne(check: string, run: () => Promise<Finding>): Promise<Diagnosis> {
  try {
    const finding = await run();
    return { check, ...finding, exit_code: exitCodeOfResult(finding) };
  } catch (error) {
    const { what, subject, hint, exitCode } = describeError(error);
    const detail = subject === null ? what : `${what}: ${subject}`;
    return { check, result: 'failed', detail, hint, exit_code: exitCode };
  }
}

function exitCodeOfResult({ result }: Finding): number {
  return result === 'failed' ? EXIT.checkFailed : EXIT.done;
}

export function exitCodeOf(diagnoses: readonly Diagnosis[]): number {
  const codes = new Set(
    diagnoses.filter(({ result }) => result === 'failed').map(({ exit_code }) => exit_code),
  );
  const [only] = codes;
  if (only === undefined) return EXIT.done;
  return codes.size === 1 && only !== EXIT.bug ? only : EXIT.checkFailed;
}
