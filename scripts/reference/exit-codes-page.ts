/** docs/reference/exit-codes.md; a code without a meaning here does not compile. */

import { EXIT } from '../../cli/errors.ts';
import { code, page, table } from './markdown.ts';

const MEANINGS: Readonly<Record<keyof typeof EXIT, readonly [what: string, todo: string]>> = {
  done: ['Done.', ''],
  checkFailed: [
    'A check failed: drift was found, a check of `doctor` failed, `--wait` ran out, or the machine is in trouble (disk full).',
    'Read what it names.',
  ],
  usage: ['The command line or a setting is wrong.', '`--help`, or `billsync config show`.'],
  nothingMatched: [
    'Nothing matched, or there is nothing to read yet.',
    'The message names the nearest match, or how to publish.',
  ],
  refused: ['Credentials were refused.', 'Check them with `billsync doctor`.'],
  unreachable: [
    'The service, Temporal or storage could not be reached.',
    'Try again later; `billsync doctor` shows which.',
  ],
  serviceError: [
    'The billing service answered with an error.',
    'Try again later; `--verbose` has the answer.',
  ],
  rejected: [
    'Data was rejected: a CSV broke a rule, or a file is not what was announced.',
    '`billsync quarantine list`.',
  ],
  locked: ['Another process holds the warehouse, or a port is taken.', 'The message names the process.'],
  bug: ['A mistake of billsync.', 'Run it again with `--verbose` and report what it prints.'],
};

export function exitCodesPage(): string {
  const rows = Object.entries(MEANINGS).map(([name, [what, todo]]) => [
    code(String(EXIT[name as keyof typeof EXIT])),
    what,
    todo,
  ]);
  return page(
    'Exit codes',
    'Scripts may rely on them; they never change. An error is three lines at most on stderr: what happened, to what, and ' +
      'what to do.',
    table(['Code', 'Meaning', 'What to do'], rows),
  );
}
