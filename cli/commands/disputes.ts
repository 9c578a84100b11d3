/** `billsync disputes`: claims against carriers, from the finding to the credit. */

import { type Command, Option } from 'commander';
import {
  CLAIM_STATES,
  type ClaimState,
  changedText,
  checkNext,
  chosenOf,
  NEXT_STATES,
  NOTHING,
} from '../../finance/disputes/claim.ts';
import { claimableJson, claimJson, totalsJson, wholeClaimJson } from '../../finance/disputes/claim-json.ts';
import { type ClaimWithStatus, totalsOf } from '../../finance/disputes/claim-status.ts';
import type { Disputes } from '../../finance/disputes/disputes.ts';
import { FINDING_NAMES } from '../../finance/disputes/finding-kinds.ts';
import type { Claimable } from '../../finance/disputes/findings.ts';
import { CLAIM_FORMATS, type ClaimFormat } from '../../finance/disputes/workbook.ts';
import { writeWhole } from '../../lib/files/files.ts';
import { userName } from '../../lib/runtime.ts';
import { type FilterOptions, toReportFilters } from '../../reports/report-filters.ts';
import { recordOutcome } from '../audited-commands.ts';
import { CliError, EXIT } from '../errors.ts';
import { collectParameter, withFilterFlags } from '../report-output.ts';
import { counted, type Output } from '../terminal/output.ts';
import { type Column, printable } from '../terminal/table.ts';
import {
  checkEnvironment,
  collect,
  contextOf,
  group,
  positiveInteger,
  seconds,
  verb,
  withJson,
} from '../verb.ts';

export function disputesCommand(): Command {
  return group('disputes', 'Claims against carriers for wrongly billed amounts.', [
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
    'Lists the claims, newest first, with credits and remaining days. Exit code 1 when one is overdue.',
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
    'Shows a claim: its amounts, credits and history.',
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
      'billsync disputes state rejected D-17 --version 2 --note "the carrier weighed it"',
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
    'billsync disputes note D-17 --note "sent again, case 4711"',
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
    throw new CliError(EXIT.usage, '--version needs a single claim');
  const claims = named(await listed(disputes, output), [...new Set(ids)]);
  const version = flags.version ?? null;
  const request = { claims: claims.map(({ id }) => ({ id, version })), state, note: flags.note };
  for (const claim of claims) if (state !== null) checkNext(claim, state);
  if (flags.dryRun === true)
    return output.note(`Would change ${claims.map(({ id, state: now }) => `${id} (${now})`).join(', ')}.`);
  const changed = await disputes.change({ ...request, by: userName() });
  recordOutcome(changedText(changed));
  output.note(changedText(changed));
}

function withChange(command: Command): Command {
  return command
    .option('--note <text>', 'the reason, or the answer of the carrier', '')
    .option('--version <number>', 'only if it is still this version of the claim', positiveInteger)
    .option('--dry-run', 'show what would be changed');
}

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

/** Reports problems of the journal. */
export async function listed(disputes: Disputes, output: Output): Promise<readonly ClaimWithStatus[]> {
  const { claims, problems } = await disputes.list();
  for (const problem of problems) output.warn(problem);
  return claims;
}

export function chosen(
  claims: readonly ClaimWithStatus[],
  { state, carrier }: ChooseFlags,
): readonly ClaimWithStatus[] {
  return chosenOf(claims, { state: state ?? null, carrier: carrier ?? null });
}

/** @throws CliError (exit 3) one of them is not there */
export function named(
  claims: readonly ClaimWithStatus[],
  ids: readonly string[],
): readonly ClaimWithStatus[] {
  return ids.map((id) => {
    const claim = claims.find((each) => each.id === id.toUpperCase());
    if (claim !== undefined) return claim;
    throw new CliError(EXIT.nothingMatched, `there is no claim ${printable(id)}`, {
      hint: '`billsync disputes list` shows them',
    });
  });
}

/** A line below the list, for one currency of one partner. */
export function totalText({
  partner_id,
  currency_code,
  claims,
  claimed,
  recovered,
}: ReturnType<typeof totalsJson>): string {
  const of = partner_id === null ? '' : `, partner ${partner_id}`;
  return `  total ${claimed} ${currency_code} claimed, ${recovered} recovered: ${counted(claims, 'claim')}${of}`;
}

/** One claim with its history and its credits. */
export function claimText(claim: ClaimWithStatus): string {
  const { id, state, version, trackingNumber, carrier, currencyCode: currency, deadline } = claim;
  const window =
    deadline === null ? 'not known' : `until ${deadline.closesOn}, ${deadline.daysLeft} days left`;
  const lines = [
    `${id} is ${state}, version ${version}: ${printable(trackingNumber)} by ${printable(carrier)}`,
    `  invoice ${printable(claim.invoiceNumber ?? claim.invoiceId)}, line ${claim.rowNumber}, shipped ${claim.shipDate ?? 'on an unknown day'}`,
    `  billed ${claim.billed}, expected ${claim.expected}, claimed ${claim.claimed} ${currency}: ${printable(claim.reason)}`,
    `  recovered ${claim.recovered} ${currency}; claimed now ${claim.outstanding} ${currency}`,
    `  claim window: ${window}`,
    ...claim.concerns.map((concern) => `  ! ${concern}`),
    'History',
    ...claim.history.map(
      ({ version: made, at, by, state: to, note }) =>
        `  ${made}  ${at.slice(0, 19).replace('T', ' ')}  ${printable(by)}  ${to ?? 'note'}${note === '' ? '' : `: ${printable(note)}`}`,
    ),
    ...(claim.credits.length === 0 ? [] : [`Credits of ${printable(trackingNumber)}`]),
    ...claim.credits.map(
      ({ amount, invoiceNumber, invoiceId, rowNumber, invoiceDate }) =>
        `  ${amount} ${currency}  invoice ${printable(invoiceNumber ?? invoiceId)}, line ${rowNumber}, ${invoiceDate ?? ''}`,
    ),
  ];
  return lines.join('\n');
}

export const CLAIM_COLUMNS: readonly Column<ReturnType<typeof claimJson>>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: ({ state }) => state },
  { title: 'carrier', value: ({ carrier }) => carrier },
  { title: 'tracking number', value: ({ tracking_number }) => tracking_number },
  { title: 'invoice', value: ({ invoice_number }) => invoice_number },
  { title: 'claimed', value: ({ outstanding }) => outstanding, align: 'right' },
  { title: 'recovered', value: ({ recovered }) => recovered, align: 'right' },
  { title: 'currency', value: ({ currency_code }) => currency_code },
  { title: 'days left', value: ({ days_left }) => days_left, align: 'right' },
  { title: 'look at', value: ({ concerns }) => concerns.join(' '), canShrink: true },
  { title: 'note', value: ({ note }) => note, canShrink: true },
];

export const FOUND_COLUMNS: readonly Column<ReturnType<typeof claimableJson>>[] = [
  { title: 'carrier', value: ({ carrier }) => carrier },
  { title: 'tracking number', value: ({ tracking_number }) => tracking_number },
  { title: 'invoice', value: ({ invoice_number }) => invoice_number },
  { title: 'shipped', value: ({ ship_date }) => ship_date },
  { title: 'billed', value: ({ billed }) => billed, align: 'right' },
  { title: 'expected', value: ({ expected }) => expected, align: 'right' },
  { title: 'claimed', value: ({ claimed }) => claimed, align: 'right' },
  { title: 'currency', value: ({ currency_code }) => currency_code },
  { title: 'why not', value: ({ hindrance }) => hindrance, canShrink: true },
];

/** @throws CliError the data folder is of another environment */
export async function disputesOf(command: Command) {
  const { settings, output } = contextOf(command);
  await checkEnvironment(settings);
  const [{ openDisputes }, { publishedPath }] = await Promise.all([
    import('../../finance/disputes/disputes.ts'),
    import('../published.ts'),
  ]);
  const { dataDir } = settings;
  return { disputes: openDisputes({ dataDir, databasePath: publishedPath(settings) }), output };
}

interface ExportFlags extends ChooseFlags {
  readonly output: string;
  readonly format?: ClaimFormat;
  readonly dryRun?: boolean;
}

/** `billsync disputes export`. */
export function exportCommand(): Command {
  const command = verb(
    'export [id...]',
    'Writes claims of one carrier as a workbook: the named ones, or those that match the options. Changes no state.',
    'billsync disputes export --carrier ups --output ups-claims.xlsx',
  );
  withChoice(command)
    .requiredOption('--output <file>', 'write to this file')
    .option('--dry-run', 'show what would be written')
    .addOption(
      new Option('--format <format>', 'the form; as the name of the file ends, else xlsx').choices([
        ...CLAIM_FORMATS,
      ]),
    );
  return command.action(async (ids: readonly string[], flags: ExportFlags, command: Command) => {
    const { disputes, output } = await disputesOf(command);
    const { claimFile } = await import('../../finance/disputes/workbook.ts');
    const all = await listed(disputes, output);
    const claims = ids.length > 0 ? named(all, ids) : chosen(all, { state: 'open', ...flags });
    const format = flags.format ?? (flags.output.endsWith('.csv') ? 'csv' : 'xlsx');
    const file = await claimFile([...claims].reverse(), format, new Date());
    if (flags.dryRun !== true) await writeWhole(flags.output, file.body);
    const done = flags.dryRun === true ? 'Would write' : 'Wrote';
    output.note(`${done} ${flags.output}: ${counted(file.claims, 'claim')}.`);
    if (file.leftOut > 0)
      output.warn(`${counted(file.leftOut, 'claim')} left out: nothing is claimed any more.`);
    const open = claims.filter(({ state, outstanding }) => state === 'open' && outstanding !== NOTHING);
    if (open.length > 0)
      output.note(`When it is sent: billsync disputes state sent ${open.map(({ id }) => id).join(' ')}`);
  });
}

interface FindFlags extends FilterOptions {
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
    .option('--reason <text>', 'the reason that the carrier reads, instead of the default text')
    .option('--note <text>', 'for yourselves; no carrier reads it', '')
    .option('--dry-run', 'show what would be claimed');
  return withJson(command).action(async (finding: string, flags: FindFlags, command: Command) => {
    const { disputes, output } = await disputesOf(command);
    if ((flags.all === true) === (flags.tracking !== undefined))
      throw new CliError(EXIT.usage, 'name tracking numbers with --tracking, or add --all', {
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
    recordOutcome(`Opened ${ids.join(', ')}.`);
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
    filters: toReportFilters(flags),
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
