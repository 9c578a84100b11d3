import { CliError, EXIT } from '../errors.ts';

export const CANNOT_BE_UNDONE = 'this cannot be undone';

/**
 * @param after what the action changes, as a clause @throws CliError (exit 2) without consent, or without a terminal and `--yes`
 */
export async function confirm(
  question: string,
  flags: { readonly yes?: boolean },
  after = CANNOT_BE_UNDONE,
): Promise<void> {
  if (flags.yes === true) return;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new CliError(EXIT.usage, question, { hint: `${after}: add --yes to confirm` });
  }
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question(
    `${question} ${after.charAt(0).toUpperCase()}${after.slice(1)}. Continue? [y/N] `,
  );
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(EXIT.usage, 'nothing was done');
}

export async function onInterrupt<T>(message: string, work: () => Promise<T>): Promise<T> {
  const interrupt = (): void => {
    process.off('SIGINT', interrupt);
    process.stderr.write(`\n${message}\n`);
    process.kill(process.pid, 'SIGINT');
  };
  process.on('SIGINT', interrupt);
  try {
    return await work();
  } finally {
    process.off('SIGINT', interrupt);
  }
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export function endOnEarlySignal(): void {
  for (const signal of SIGNALS) process.on(signal, end);
}

export function takeOverSignals(): void {
  for (const signal of SIGNALS) process.off(signal, end);
}

function end(): void {
  process.exit(0);
}
