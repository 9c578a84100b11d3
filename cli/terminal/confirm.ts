/** Asks before what changes figures or cannot be undone: on a terminal in words, elsewhere only `--yes` is an answer. */

import { createInterface } from 'node:readline/promises';
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
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question(
    `${question} ${after.charAt(0).toUpperCase()}${after.slice(1)}. Go on? [y/N] `,
  );
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(EXIT.usage, 'nothing was done');
}
