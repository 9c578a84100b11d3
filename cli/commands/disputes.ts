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
import {
  type ClaimTotals,
  type ClaimWithStatus,
  claimJson,
  totalsOf,
} from '../../finance/disputes/claim-status.ts';
import type { Disputes } from '../../finance/disputes/disputes.ts';
import { FINDING_NAMES } from '../../finance/disputes/finding-kinds.ts';
import type { Claimable } from '../../finance/disputes/findings.ts';
import { CLAIM_FORMATS, type ClaimFormat } from '../../finance/disputes/workbook.ts';
import { writeWhole } from '../../lib/files/files.ts';
import { userName } from '../../lib/runtime.ts';
import { type FilterOptions, toReportFilters } from '../../reports/report-filters.ts';
import { CliError, EXIT } from '../errors.ts';
import { collectParameter, withFilterFlags } from '../report-output.ts';
import { counted, type Output } from '../terminal/output.ts';
import { type Column, printable } from '../terminal/table.ts';
import { collect, group, positiveInteger, type Run, seconds, type Verb, verb } from '../verb.ts';

export function command(): Command {
  return group('disputes', 'Manages claims against carriers for wrongly billed amounts.', [
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
  return withChoice(command)
    .ndjson()
    .run(async (run: Run<ChooseFlags>) => {
      const { output } = run;
      const claims = chooseClaims(await listClaims(await disputesOf(run), output), run.flags);
      output.rows(claims.map(claimJson), CLAIM_COLUMNS, { empty: 'No claim matches.' });
      if (output.form === 'table') for (const total of totalsOf(claims)) output.note(totalText(total));
      if (claims.some(({ is_overdue }) => is_overdue)) process.exitCode = EXIT.checkFailed;
    });
}

function showCommand(): Command {
  return verb('show <id>', 'Shows a claim: its amounts, credits and history.', 'billsync disputes show D-17')
    .json()
    .run(async (run: Run, id: string) => {
      const [claim] = claimsNamed(await listClaims(await disputesOf(run), run.output), [id]);
      if (claim !== undefined) run.output.thing(claim, () => claimText(claim));
    });
}

interface ChangeFlags {
  readonly note: string;
  readonly version?: number;
  readonly dryRun?: boolean;
}

function stateCommand(): Command {
  const transitions = CLAIM_STATES.map((state) => `${state} to ${NEXT_STATES[state].join(' or ')}`).join(
    ', ',
  );
  const command = verb(
    'state <state> <id...>',
    `Changes the state of the named claims, of all or none: ${transitions}.`,
    'billsync disputes state sent D-17 D-18\n' +
      'billsync disputes state rejected D-17 --version 2 --note "the carrier weighed it"',
  );
  return withChangeFlags(command).run(
    async (run: Run<ChangeFlags>, state: string, ids: readonly string[]) => {
      const known = CLAIM_STATES.find((each) => each === state);
      if (known === undefined)
        throw new CliError(EXIT.usage, `there is no state ${printable(state)}`, {
          hint: `a state is one of ${CLAIM_STATES.join(', ')}`,
        });
      await changeClaims(run, ids, known);
    },
  );
}

function noteCommand(): Command {
  const command = verb(
    'note <id...>',
    'Adds a note to claims.',
    'billsync disputes note D-17 --note "sent again, case 4711"',
  );
  return withChangeFlags(command).run((run: Run<ChangeFlags>, ids: readonly string[]) =>
    changeClaims(run, ids, null),
  );
}

async function changeClaims(
  run: Run<ChangeFlags>,
  ids: readonly string[],
  state: ClaimState | null,
): Promise<void> {
  const { flags, output } = run;
  const disputes = await disputesOf(run);
  if (flags.version !== undefined && ids.length > 1)
    throw new CliError(EXIT.usage, '--version needs a single claim');
  const claims = claimsNamed(await listClaims(disputes, output), [...new Set(ids)]);
  const version = flags.version ?? null;
  const request = { claims: claims.map(({ id }) => ({ id, version })), state, note: flags.note };
  for (const claim of claims) if (state !== null) checkNext(claim, state);
  if (flags.dryRun === true)
    return output.note(`Would change ${claims.map(({ id, state: now }) => `${id} (${now})`).join(', ')}.`);
  const changed = await disputes.change({ ...request, by: userName() });
  run.recordOutcome(changedText(changed));
  output.note(changedText(changed));
}

function withChangeFlags(command: Verb): Verb {
  return command
    .audited()
    .option('--note <text>', 'reason, or response of the carrier', '')
    .option('--version <number>', 'only if the claim still has this version', positiveInteger)
    .option('--dry-run', 'show what would be changed');
}

interface ChooseFlags {
  readonly state?: ClaimState;
  readonly carrier?: string;
}

function withChoice(command: Verb): Verb {
  return command
    .addOption(new Option('--state <state>', 'only claims in this state').choices([...CLAIM_STATES]))
    .option('--carrier <name>', 'only claims against this carrier, in upper or lower case');
}

async function listClaims(disputes: Disputes, output: Output): Promise<readonly ClaimWithStatus[]> {
  const { claims, problems } = await disputes.list();
  for (const problem of problems) output.warn(problem);
  return claims;
}

function chooseClaims(claims: readonly ClaimWithStatus[], { state, carrier }: ChooseFlags) {
  return chosenOf(claims, { state: state ?? null, carrier: carrier ?? null });
}

function claimsNamed(claims: readonly ClaimWithStatus[], ids: readonly string[]): readonly ClaimWithStatus[] {
  return ids.map((id) => {
    const claim = claims.find((each) => each.id === id.toUpperCase());
    if (claim !== undefined) return claim;
    throw new CliError(EXIT.nothingMatched, `there is no claim ${printable(id)}`, {
      hint: '`billsync disputes list` shows all claims',
    });
  });
}

function totalText(total: ClaimTotals): string {
  const partner = total.partner_id === null ? '' : `, partner ${total.partner_id}`;
  return `  total ${total.claimed} ${total.currency_code} claimed, ${total.recovered} recovered: ${counted(total.claims, 'claim')}${partner}`;
}

function claimText(claim: ClaimWithStatus): string {
  const { id, state, version, tracking_number, carrier, currency_code: currency, closes_on } = claim;
  const window = closes_on === null ? 'not known' : `until ${closes_on}, ${claim.days_left} days left`;
  const lines = [
    `${id} is ${state}, version ${version}: ${printable(tracking_number)} by ${printable(carrier)}`,
    `  invoice ${printable(claim.invoice_number ?? claim.invoice_id)}, line ${claim.row_number}, shipped ${claim.ship_date ?? 'on an unknown day'}`,
    `  billed ${claim.billed}, expected ${claim.expected}, claimed ${claim.claimed} ${currency}: ${printable(claim.reason)}`,
    `  recovered ${claim.recovered} ${currency}; claimed now ${claim.outstanding} ${currency}`,
    `  claim window: ${window}`,
    ...claim.concerns.map((concern) => `  ! ${concern}`),
    'History',
    ...claim.history.map(
      ({ version: made, at, by, state: to, note }) =>
        `  ${made}  ${at.slice(0, 19).replace('T', ' ')}  ${printable(by)}  ${to ?? 'note'}${note === '' ? '' : `: ${printable(note)}`}`,
    ),
    ...(claim.credits.length === 0 ? [] : [`Credits of ${printable(tracking_number)}`]),
    ...claim.credits.map(
      ({ amount, invoice_number, invoice_id, row_number, invoice_date }) =>
        `  ${amount} ${currency}  invoice ${printable(invoice_number ?? invoice_id)}, line ${row_number}, ${invoice_date ?? ''}`,
    ),
  ];
  return lines.join('\n');
}

const CLAIM_COLUMNS: readonly Column<ReturnType<typeof claimJson>>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: ({ state }) => state },
  { title: 'carrier', value: ({ carrier }) => carrier },
  { title: 'tracking number', value: ({ tracking_number }) => tracking_number },
  { title: 'invoice', value: ({ invoice_number }) => invoice_number },
  { title: 'claimed', value: ({ outstanding }) => outstanding, align: 'right' },
  { title: 'recovered', value: ({ recovered }) => recovered, align: 'right' },
  { title: 'currency', value: ({ currency_code }) => currency_code },
  { title: 'days left', value: ({ days_left }) => days_left, align: 'right' },
  { title: 'concerns', value: ({ concerns }) => concerns.join(' '), canShrink: true },
  { title: 'note', value: ({ note }) => note, canShrink: true },
];

const FOUND_COLUMNS: readonly Column<Claimable>[] = [
  { title: 'carrier', value: ({ carrier }) => carrier },
  { title: 'tracking number', value: ({ tracking_number }) => tracking_number },
  { title: 'invoice', value: ({ invoice_number }) => invoice_number },
  { title: 'shipped', value: ({ ship_date }) => ship_date },
  { title: 'billed', value: ({ billed }) => billed, align: 'right' },
  { title: 'expected', value: ({ expected }) => expected, align: 'right' },
  { title: 'claimed', value: ({ claimed }) => claimed, align: 'right' },
  { title: 'currency', value: ({ currency_code }) => currency_code },
  { title: 'cannot be claimed because', value: ({ hindrance }) => hindrance, canShrink: true },
];

async function disputesOf({ settings }: Pick<Run, 'settings'>): Promise<Disputes> {
  const [{ openDisputes }, { publishedPath }] = await Promise.all([
    import('../../finance/disputes/disputes.ts'),
    import('../published.ts'),
  ]);
  return openDisputes({ dataDir: settings.dataDir, databasePath: publishedPath(settings) });
}

interface ExportFlags extends ChooseFlags {
  readonly output: string;
  readonly format?: ClaimFormat;
  readonly dryRun?: boolean;
}

function exportCommand(): Command {
  const command = verb(
    'export [id...]',
    'Writes claims of one carrier to a letter (pdf) or a workbook: the named claims, or all open claims that match the options. Changes no state.',
    'billsync disputes export --carrier ups --output ups-claims.xlsx',
  );
  const format = new Option('--format <format>', 'format; by default that of the file extension, else xlsx');
  return withChoice(command)
    .requiredOption('--output <file>', 'write to this file')
    .option('--dry-run', 'show what would be written')
    .addOption(format.choices(CLAIM_FORMATS))
    .run(async (run: Run<ExportFlags>, ids: readonly string[]) => {
      const { flags, output } = run;
      const { claimFile } = await import('../../finance/disputes/workbook.ts');
      const all = await listClaims(await disputesOf(run), output);
      const claims = ids.length > 0 ? claimsNamed(all, ids) : chooseClaims(all, { state: 'open', ...flags });
      const format =
        flags.format ?? CLAIM_FORMATS.find((each) => flags.output.endsWith(`.${each}`)) ?? 'xlsx';
      const file = await claimFile([...claims].reverse(), format, {
        now: new Date(),
        dataDir: run.settings.dataDir,
      });
      if (flags.dryRun !== true) await writeWhole(flags.output, file.body);
      const done = flags.dryRun === true ? 'Would write' : 'Wrote';
      output.note(`${done} ${flags.output}: ${counted(file.claims, 'claim')}.`);
      if (file.leftOut > 0)
        output.warn(`${counted(file.leftOut, 'claim')} left out: nothing of them is claimed any more.`);
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

function findCommand(): Command {
  const command = verb(
    'find <finding>',
    `Lists the lines of a finding that can be claimed: ${FINDING_NAMES.join(', ')} (lines named with --tracking). Changes nothing.`,
    'billsync disputes find duplicates --carrier ups --period 2026-03',
  );
  return withFinding(command)
    .ndjson()
    .run(async (run: Run<FindFlags>, finding: string) => {
      printFound(await findFoundLines(await disputesOf(run), run, finding), run.output);
    });
}

function openCommand(): Command {
  const command = verb(
    'open <finding>',
    'Opens a claim for each line of a finding: the lines of --tracking, or --all. Opens all of them or none.',
    'billsync disputes open duplicates --tracking 1Z999AA10123456784 --note "both charges are ours"\n' +
      'billsync disputes open outliers --period 2026-03 --all --dry-run',
  );
  return withFinding(command)
    .option('--all', 'claim every line of the finding')
    .option('--reason <text>', 'reason for the carrier, instead of the default text')
    .option('--note <text>', 'an internal note, which the carrier does not receive', '')
    .option('--dry-run', 'show what would be claimed')
    .json()
    .audited()
    .run(async (run: Run<FindFlags>, finding: string) => {
      const { flags, output } = run;
      const disputes = await disputesOf(run);
      if ((flags.all === true) === (flags.tracking !== undefined))
        throw new CliError(EXIT.usage, 'name tracking numbers with --tracking, or add --all', {
          hint: `\`billsync disputes find ${printable(finding)}\` lists what can be claimed`,
        });
      const lines = await findFoundLines(disputes, run, finding);
      if (flags.dryRun === true || lines.every(({ hindrance }) => hindrance !== null)) {
        printFound(lines, output);
        if (flags.dryRun === true) return output.note('Nothing was opened.');
        throw new CliError(EXIT.nothingMatched, 'nothing can be claimed');
      }
      const opened = await disputes.open(lines, { note: flags.note, by: userName() });
      const ids = opened.map(({ id }) => id);
      run.recordOutcome(`Opened ${ids.join(', ')}.`);
      output.thing(
        opened.map(({ id }) => ({ id })),
        () => ids.join('\n'),
      );
      const skipped = lines.length - ids.length;
      const rest =
        skipped === 0
          ? 'every line that was found is claimed'
          : `${counted(skipped, 'line')} could not be claimed`;
      output.note(`Opened ${counted(ids.length, 'claim')}; ${rest}.`);
    });
}

function withFinding(command: Verb): Verb {
  return withFilterFlags(command)
    .option('--tracking <number>', 'only lines of this tracking number (repeatable)', collect)
    .option('--param <name=value>', "one of the report's own parameters (repeatable)", collectParameter)
    .option('--rates <file>', 'CSV of expected rates, for rate-variance')
    .option('--weights <file>', 'CSV of the units and steps in which carriers rate weights')
    .option('--timeout <seconds>', 'stop after this time', seconds, 60);
}

async function findFoundLines(
  disputes: Disputes,
  { flags, output }: Run<FindFlags>,
  name: string,
): Promise<readonly Claimable[]> {
  const finding = FINDING_NAMES.find((each) => each === name);
  if (finding === undefined)
    throw new CliError(EXIT.usage, `there is no finding ${printable(name)}`, {
      hint: `a finding is one of ${FINDING_NAMES.join(', ')}`,
    });
  const { rates, weights, tracking, param, timeout, reason } = flags;
  const { lines, notes } = await disputes.find({
    finding,
    filters: toReportFilters(flags),
    parameters: param ?? {},
    tables: { rates, weights },
    ...{ rows: null, trackingNumbers: tracking ?? null, timeLimitMs: timeout * 1000, reason },
  });
  for (const note of notes) output.note(`  note: ${printable(note)}`);
  return lines;
}

function printFound(lines: readonly Claimable[], output: Output): void {
  output.rows(lines, FOUND_COLUMNS, { empty: 'Nothing was found.' });
}
