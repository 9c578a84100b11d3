/** Asks before what changes figures or cannot be undone: on a terminal in words, elsewhere only `--yes` is an answer. */

import { CliError, EXIT } from '../errors.ts';

export const CANNOT_BE_UNDONE = 'this cannot be undone';

/** @param after what becomes of it, as a clause. @throws CliError (exit 2) when nobody agreed */
export async function confirm(
  question: string,
  flags: { readonly yes?: boolean },
  after = CANNOT_BE_UNDONE,
): Promise<void> {
  if (flags.yes === true) return;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new CliError(EXIT.usage, question, { hint: `${after}: add --yes to agree` });
  }
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question(
    `${question} ${after.charAt(0).toUpperCase()}${after.slice(1)}. Go on? [y/N] `,
  );
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(EXIT.usage, 'nothing was done');
}

/** The signal then does what it always does. */
export async function onInterrupt<T>(words: string, work: () => Promise<T>): Promise<T> {
  const tell = (): void => {
    process.off('SIGINT', tell);
    process.stderr.write(`\n${words}\n`);
    process.kill(process.pid, 'SIGINT');
  };
  process.on('SIGINT', tell);
  try {
    return await work();
  } finally {
    process.off('SIGINT', tell);
  }
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Until `takeOverSignals`; loading what a role needs takes a moment, in which a signal would count as a failure. */
export function endOnEarlySignal(): void {
  for (const signal of SIGNALS) process.on(signal, end);
}

export function takeOverSignals(): void {
  for (const signal of SIGNALS) process.off(signal, end);
}

function end(): void {
  process.exit(0);
}
