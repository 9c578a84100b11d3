/** The claims that a command is about: named by their ids, or chosen by state and carrier. */

import { type Command, Option } from 'commander';
import { CLAIM_STATES, type ClaimState, chosenOf } from '../../../finance/disputes/claim.ts';
import type { Disputes } from '../../../finance/disputes/disputes.ts';
import type { StandingClaim } from '../../../finance/disputes/standing.ts';
import { CliError, EXIT } from '../../errors.ts';
import type { Output } from '../../terminal/output.ts';
import { printable } from '../../terminal/terminal-text.ts';

export interface ChooseFlags {
  readonly state?: ClaimState;
  readonly carrier?: string;
}

/** The options that choose claims. */
export function withChoice(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'only those in this state').choices([...CLAIM_STATES]))
    .option('--carrier <name>', 'only those against this carrier, in upper or lower case');
}

/** All of them; what is wrong with the journal is said on the way. */
export async function listed(disputes: Disputes, output: Output): Promise<readonly StandingClaim[]> {
  const { claims, problems } = await disputes.list();
  for (const problem of problems) output.warn(problem);
  return claims;
}

/** Those in that state and against that carrier; what is not given does not choose. */
export function chosen(
  claims: readonly StandingClaim[],
  { state, carrier }: ChooseFlags,
): readonly StandingClaim[] {
  return chosenOf(claims, { state: state ?? null, carrier: carrier ?? null });
}

/** @throws CliError (exit 3) one of them is not there */
export function named(claims: readonly StandingClaim[], ids: readonly string[]): readonly StandingClaim[] {
  return ids.map((id) => {
    const claim = claims.find((each) => each.id === id.toUpperCase());
    if (claim !== undefined) return claim;
    throw new CliError(EXIT.nothingMatched, `there is no claim ${printable(id)}`, {
      hint: '`billsync disputes list` shows them',
    });
  });
}
