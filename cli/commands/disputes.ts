/** `billsync disputes`: what is asked back of carriers, from the finding to the credit. */

import type { Command } from 'commander';
import {
  CLAIM_STATES,
  type ClaimState,
  changedText,
  checkNext,
  NEXT_STATES,
} from '../../finance/disputes/claim.ts';
import { claimJson, totalsJson, wholeClaimJson } from '../../finance/disputes/claim-json.ts';
import { totalsOf } from '../../finance/disputes/totals.ts';
import { userName } from '../../lib/runtime.ts';
import { noteOutcome } from '../audited-commands.ts';
import { CliError, EXIT } from '../errors.ts';
import { printable } from '../terminal/terminal-text.ts';
import { group, positiveInteger, verb, withJson } from '../verb.ts';
import { type ChooseFlags, chosen, listed, named, withChoice } from './disputes/choose-claims.ts';
import { CLAIM_COLUMNS, claimText, totalText } from './disputes/claim-text.ts';
import { disputesOf } from './disputes/disputes-of.ts';
import { exportCommand } from './disputes/export-claims.ts';
import { findCommand, openCommand } from './disputes/find-and-open.ts';

export function disputesCommand(): Command {
  return group('disputes', 'Claims against carriers: what was billed wrongly, asked back and credited.', [
    listCommand(),
    showCommand(),
    findCommand(),
    openCommand(),
    stateCommand(),
    noteCommand(),
    exportCommand(),
  ]);
}

function listCommand(): Command {
  const command = verb(
    'list',
    'Lists the claims, newest first, with what was credited since and the days that are left. Exit code 1 when one is overdue.',
    'billsync disputes list --state sent --carrier ups',
  );
  withJson(withChoice(command), { ndjson: true });
  return command.action(async (flags: ChooseFlags, command: Command) => {
    const { disputes, output } = await disputesOf(command);
    const claims = chosen(await listed(disputes, output), flags);
    output.rows(claims.map(claimJson), CLAIM_COLUMNS, {
      empty: 'There is no such claim.',
    });
    if (output.form === 'table')
      for (const total of totalsOf(claims)) output.note(totalText(totalsJson(total)));
    if (claims.some(({ isOverdue }) => isOverdue)) process.exitCode = EXIT.checkFailed;
  });
}

function showCommand(): Command {
  const command = verb(
    'show <id>',
    'Shows a claim: its amounts, the credits of its number, and who changed what.',
    'billsync disputes show D-17',
  );
  return withJson(command).action(async (id: string, _flags: unknown, command: Command) => {
    const { disputes, output } = await disputesOf(command);
    const [claim] = named(await listed(disputes, output), [id]);
    if (claim !== undefined) output.thing(wholeClaimJson(claim), () => claimText(claim));
  });
}

interface ChangeFlags {
  readonly note: string;
  readonly version?: number;
  readonly dryRun?: boolean;
}

function stateCommand(): Command {
  const command = verb(
    'state <state> <id...>',
    `Changes the state of claims, of all of them or none: ${transitions()}.`,
    'billsync disputes state sent D-17 D-18\n' +
      'billsync disputes state rejected D-17 --version 2 --note "they say it was weighed"',
  );
  return withChange(command).action(
    async (state: string, ids: readonly string[], flags: ChangeFlags, command: Command) => {
      const known = CLAIM_STATES.find((each) => each === state);
      if (known === undefined)
        throw new CliError(EXIT.usage, `there is no state ${printable(state)}`, {
          hint: `take ${CLAIM_STATES.join(', ')}`,
        });
      await change(command, { ids, flags, state: known });
    },
  );
}

function transitions(): string {
  return CLAIM_STATES.map((state) => `${state} to ${NEXT_STATES[state].join(' or ')}`).join(', ');
}

function noteCommand(): Command {
  const command = verb(
    'note <id...>',
    'Adds a note to claims.',
    'billsync disputes note D-17 --note "asked again, case 4711"',
  );
  return withChange(command).action((ids: readonly string[], flags: ChangeFlags, command: Command) =>
    change(command, { ids, flags, state: null }),
  );
}

async function change(
  command: Command,
  {
    ids,
    flags,
    state,
  }: { readonly ids: readonly string[]; readonly flags: ChangeFlags; readonly state: ClaimState | null },
): Promise<void> {
  const { disputes, output } = await disputesOf(command);
  if (flags.version !== undefined && ids.length > 1)
    throw new CliError(EXIT.usage, '--version is of one claim');
  const claims = named(await listed(disputes, output), [...new Set(ids)]);
  const version = flags.version ?? null;
  const asked = { claims: claims.map(({ id }) => ({ id, version })), state, note: flags.note };
  for (const claim of claims) if (state !== null) checkNext(claim, state);
  if (flags.dryRun === true)
    return output.note(`Would change ${claims.map(({ id, state: now }) => `${id} (${now})`).join(', ')}.`);
  const changed = await disputes.change({ ...asked, by: userName() });
  noteOutcome(changedText(changed));
  output.note(changedText(changed));
}

function withChange(command: Command): Command {
  return command
    .option('--note <text>', 'why, or what was heard', '')
    .option('--version <number>', 'only if it is still this version of the claim', positiveInteger)
    .option('--dry-run', 'say what would be changed');
}
