/** `billsync disputes find` and `open`: from what a report found to claims. */

import type { Command } from 'commander';
import { claimableJson } from '../../../finance/disputes/claim-json.ts';
import type { Claimable } from '../../../finance/disputes/claimable.ts';
import type { Disputes } from '../../../finance/disputes/disputes.ts';
import { FINDING_NAMES } from '../../../finance/disputes/finding-kinds.ts';
import { userName } from '../../../lib/runtime.ts';
import { filtersNamed, type NamedFilters } from '../../../reports/report-filters.ts';
import { noteOutcome } from '../../audited-commands.ts';
import { CliError, EXIT } from '../../errors.ts';
import { counted, type Output } from '../../terminal/output.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { collect, seconds, verb, withJson } from '../../verb.ts';
import { collectParameter, withFilterFlags } from '../reports/filter-flags.ts';
import { FOUND_COLUMNS } from './claim-text.ts';
import { disputesOf } from './disputes-of.ts';

interface FindFlags extends NamedFilters {
  readonly tracking?: readonly string[];
  readonly all?: boolean;
  readonly param?: Readonly<Record<string, string>>;
  readonly rates?: string;
  readonly weights?: string;
  readonly timeout: number;
  readonly note: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** `find`: what can be claimed, changing nothing. */
export function findCommand(): Command {
  const command = verb(
    'find <finding>',
    `Lists the lines that can be claimed: ${FINDING_NAMES.join(', ')} (lines you name by --tracking). Changes nothing.`,
    'billsync disputes find duplicates --carrier ups --from 2026-03-01 --to 2026-04-01',
  );
  withJson(withFinding(command), { ndjson: true });
  return command.action(async (finding: string, flags: FindFlags, command: Command) => {
    const { disputes, output } = await disputesOf(command);
    printFound(await find(disputes, { finding, flags, output }), output);
  });
}

/** `open`: claims of what is found, all of them or none. */
export function openCommand(): Command {
  const command = verb(
    'open <finding>',
    'Opens a claim for each line that is found: those of --tracking, or --all. All of them or none.',
    'billsync disputes open duplicates --tracking 1Z999AA10123456784 --note "both charges are ours"\n' +
      'billsync disputes open outliers --from 2026-03-01 --to 2026-04-01 --all --dry-run',
  );
  withFinding(command)
    .option('--all', 'every line that is found')
    .option('--reason <text>', 'what the carrier reads as the reason, instead of the usual words')
    .option('--note <text>', 'for yourselves; no carrier reads it', '')
    .option('--dry-run', 'say what would be claimed');
  return withJson(command).action(async (finding: string, flags: FindFlags, command: Command) => {
    const { disputes, output } = await disputesOf(command);
    if ((flags.all === true) === (flags.tracking !== undefined))
      throw new CliError(EXIT.usage, 'name tracking numbers with --tracking, or say --all', {
        hint: `\`billsync disputes find ${printable(finding)}\` lists what can be claimed`,
      });
    const lines = await find(disputes, { finding, flags, output });
    if (flags.dryRun === true || lines.every(({ hindrance }) => hindrance !== null)) {
      printFound(lines, output);
      if (flags.dryRun === true) return output.note('Nothing was opened.');
      throw new CliError(EXIT.nothingMatched, 'there is nothing to be claimed');
    }
    const opened = await disputes.open(lines, { note: flags.note, by: userName() });
    const ids = opened.map(({ id }) => id);
    noteOutcome(`Opened ${ids.join(', ')}.`);
    output.thing(
      opened.map(({ id }) => ({ id })),
      () => ids.join('\n'),
    );
    output.note(`Opened ${counted(ids.length, 'claim')}; ${passedOver(lines.length - ids.length)}`);
  });
}

function passedOver(count: number): string {
  return count === 0
    ? 'every line that was found is claimed.'
    : `${counted(count, 'line')} could not be claimed.`;
}

function withFinding(command: Command): Command {
  return withFilterFlags(command)
    .option('--tracking <number>', 'only lines of this tracking number (repeatable)', collect)
    .option('--param <name=value>', "one of the report's own parameters (repeatable)", collectParameter)
    .option('--rates <file>', 'CSV of expected rates, for rate-variance')
    .option('--weights <file>', 'CSV of the units and steps in which carriers rate weights')
    .option('--timeout <seconds>', 'stop after this time', seconds, 60);
}

async function find(
  disputes: Disputes,
  {
    finding: name,
    flags,
    output,
  }: { readonly finding: string; readonly flags: FindFlags; readonly output: Output },
): Promise<readonly Claimable[]> {
  const finding = FINDING_NAMES.find((each) => each === name);
  if (finding === undefined)
    throw new CliError(EXIT.usage, `nothing is claimed of ${printable(name)}`, {
      hint: `take ${FINDING_NAMES.join(', ')}`,
    });
  const { rates, weights, tracking, param, timeout, reason } = flags;
  const { lines, notes } = await disputes.find({
    finding,
    filters: filtersNamed(flags),
    parameters: param ?? {},
    tables: { rates, weights },
    ...{ rows: null, trackingNumbers: tracking ?? null, timeLimitMs: timeout * 1000, reason },
  });
  for (const note of notes) output.note(`  note: ${note}`);
  return lines;
}

function printFound(lines: readonly Claimable[], output: Output): void {
  output.rows(lines.map(claimableJson), FOUND_COLUMNS, {
    empty: 'Nothing was found.',
  });
}
