import { type Command, Option } from 'commander';
import type { MadeStatement } from '../../finance/statements/make-statements.ts';
import type { StatementFormat } from '../../finance/statements/render-statement.ts';
import { PAPERS, type PaperSize, type Statement } from '../../finance/statements/statement.ts';
import { DATE_BASES, type DateBasis } from '../../reports/report-filters.ts';
import { CliError, EXIT } from '../errors.ts';
import { confirm } from '../terminal/interaction.ts';
import { counted, type Output } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { collect, type Run, seconds, verb } from '../verb.ts';

interface Flags {
  readonly tenant?: readonly string[];
  readonly allTenants?: boolean;
  readonly partner?: readonly string[];
  readonly period?: string;
  readonly by: DateBasis;
  readonly format?: StatementFormat;
  readonly paper: PaperSize;
  readonly output?: string;
  readonly costs?: string;
  readonly final?: boolean;
  readonly acceptIncomplete?: string;
  readonly replace?: string;
  readonly shipments: boolean;
  readonly timeout: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly schedule?: 'monthly' | 'off' | 'show';
  readonly scheduleName: string;
}

/** The list is repeated here, so that the help loads no renderer. */
const FORMATS = ['pdf', 'xlsx', 'csv'] as const satisfies readonly StatementFormat[];

export function command(): Command {
  return verb(
    'statement',
    'Writes the statement of a tenant for a month: charges, credits, corrections of earlier statements, and the proof.',
    'billsync statement --tenant Acme --period 2026-10 --format pdf --output ./statements\n' +
      'billsync statement --all-tenants --period 2026-10 --format csv --output ./statements --final --yes\n' +
      'billsync statement --all-tenants --format pdf --output /srv/statements --schedule monthly',
  )
    .option('--tenant <tenant>', 'this tenant, by id or name (repeatable)', collect)
    .option('--all-tenants', 'one file for each tenant with billed lines or corrections')
    .option('--partner <partner>', 'only tenants of this partner, by id or name (repeatable)', collect)
    .option('--period <month>', 'month, such as 2026-10; by default last-month')
    .addOption(
      new Option('--by <date>', 'the date that assigns a line to the month')
        .choices(DATE_BASES)
        .default(DATE_BASES[0]),
    )
    .addOption(new Option('--format <format>', 'format of the files').choices(FORMATS))
    .addOption(
      new Option('--paper <size>', 'paper size of a PDF or a workbook').choices(PAPERS).default(PAPERS[0]),
    )
    .option('--output <folder>', 'folder for the files; by default the current folder')
    .option('--costs <file>', 'CSV of your own costs, as for `report margin`: adds the margin')
    .option('--final', 'store the statement as sent; the next one then corrects later changes')
    .option(
      '--accept-incomplete <reason>',
      'with --final: send it although known invoices of the month do not count yet; the statement contains the reason',
    )
    .option(
      '--replace <reason>',
      'with --final: replace the statement that was sent for the month by a numbered one that names both',
    )
    .option('--no-shipments', 'leave out the shipment lines')
    .option('--timeout <seconds>', 'stop after this time', seconds, 600)
    .addOption(
      new Option(
        '--schedule <when>',
        'write the statements of the previous month to the folder --output every month; off ends a schedule, show lists them',
      ).choices(['monthly', 'off', 'show']),
    )
    .option('--schedule-name <name>', 'name of the schedule, to have several', 'statements')
    .option('--dry-run', 'show what would be written and stored')
    .option('--yes', 'with --final: skip the confirmation')
    .json()
    .audited((flags: Flags) => flags.final === true)
    .run(async (run: Run<Flags>) => {
      const { schedule: action } = run.flags;
      if (action === undefined || action === 'monthly') checkFlags(run.flags);
      if (action === undefined) await write(run);
      else await schedule(run, action);
    });
}

async function write({ settings, flags, output, recordOutcome }: Run<Flags>): Promise<void> {
  const isFinal = flags.final === true;
  const isDryRun = flags.dryRun === true;
  if (isFinal && !isDryRun)
    await confirm('The statements are stored as sent, and the next ones correct them.', flags);
  const [{ makeStatements, statementMonth }, { publishedPath }] = await Promise.all([
    import('../../finance/statements/make-statements.ts'),
    import('../published.ts'),
  ]);
  const now = new Date();
  const period = statementMonth(flags.period, now);
  const statements: Statement[] = [];
  const folder = flags.output ?? '.';
  const count = await makeStatements(
    {
      ...{ databasePath: publishedPath(settings), dataDir: settings.dataDir },
      ...{ timeLimitMs: flags.timeout * 1000, now },
    },
    {
      ...{ tenants: flags.tenant ?? [], partners: flags.partner ?? [], period, by: flags.by, isFinal },
      ...{ costs: flags.costs, withShipments: flags.shipments, isDryRun },
      ...{ acceptIncomplete: flags.acceptIncomplete ?? null, replaceSent: flags.replace ?? null },
    },
    async (made) => {
      if (flags.json === true) statements.push(made.statement);
      await deliver(made, { flags, folder, output });
    },
  );
  if (count === 0) throw new CliError(EXIT.nothingMatched, `there is no statement for ${period}`);
  if (!isDryRun) recordOutcome(`${counted(count, 'statement')} of ${period} sent.`);
  if (flags.json === true) output.thing(flags.allTenants === true ? statements : statements[0], () => '');
}

function checkFlags({ tenant = [], allTenants, format, json, ...flags }: Flags): void {
  if ((flags.acceptIncomplete ?? flags.replace) !== undefined && (flags.final !== true || flags.schedule))
    throw new CliError(EXIT.usage, '--accept-incomplete and --replace need --final, and are of one decision');
  if (flags.replace !== undefined && allTenants === true)
    throw new CliError(EXIT.usage, '--replace needs --tenant: each replacement has its own reason');
  if (allTenants === true && tenant.length > 0)
    throw new CliError(EXIT.usage, '--all-tenants means every tenant, so --tenant cannot be given');
  if (allTenants !== true && tenant.length === 0)
    throw new CliError(EXIT.usage, 'a statement needs --tenant or --all-tenants');
  if (json === true && tenant.length > 1)
    throw new CliError(EXIT.usage, '--json needs one tenant, or --all-tenants');
  if (format === undefined && json !== true)
    throw new CliError(EXIT.usage, 'a statement needs --format, or --json for its amounts', {
      hint: `a format is one of ${FORMATS.join(', ')}`,
    });
}

async function schedule(
  { settings, flags, output }: Run<Flags>,
  action: 'monthly' | 'off' | 'show',
): Promise<void> {
  const { changeSchedule, neededFolder, readableTables } = await import('../report-schedule.ts');
  const { TENANT_STATEMENTS } = await import('../../workflows/activities.ts');
  const isDryRun = flags.dryRun === true;
  const make = async () => {
    if (flags.format === undefined || flags.period !== undefined)
      throw new CliError(
        EXIT.usage,
        'scheduled statements need --format, and are always for the previous month',
      );
    if (flags.final === true && !isDryRun)
      await confirm('Each run stores its statements as sent, and the next ones correct them.', flags);
    return {
      ...{ name: flags.scheduleName, report: TENANT_STATEMENTS, format: flags.format, period: 'last-month' },
      filters: { tenants: flags.tenant ?? [], partners: flags.partner ?? [], by: flags.by },
      parameters: {
        paper: flags.paper,
        final: flags.final === true ? 'yes' : 'no',
        shipments: flags.shipments ? 'yes' : 'no',
      },
      tables: await readableTables({ costs: flags.costs }),
      folder: neededFolder(flags.output),
    };
  };
  await changeSchedule(settings, { action, name: flags.scheduleName, isDryRun, make }, output);
}

async function deliver(
  made: MadeStatement,
  { flags, folder, output }: { readonly flags: Flags; readonly folder: string; readonly output: Output },
): Promise<void> {
  const { statement, state } = made;
  const whose = `${printable(statement.tenant)}, ${statement.period} by ${statement.by.replace('-', ' ')}`;
  const sums = statement.totals.map(({ total, currency_code }) => `${total} ${currency_code}`).join(', ');
  output.note(`${whose}: ${sums === '' ? 'nothing billed' : sums}${STATES[state](statement)}`);
  for (const each of statement.corrections)
    output.note(
      `  corrected: ${each.period} ${printable(each.invoice_number ?? each.invoice_id)} by ${each.difference} ${each.currency_code}, ${each.reason}`,
    );
  if (flags.format === undefined) return;
  const { renderStatement, writeFiles } = await import('../../finance/statements/render-statement.ts');
  const files = await renderStatement(made, flags.format, flags.paper);
  if (flags.dryRun === true) {
    for (const { name, body } of files)
      output.note(`  would write ${name} (${Buffer.byteLength(body)} bytes) to ${printable(folder)}`);
    return;
  }
  for (const path of await writeFiles(folder, files)) output.note(`  wrote ${printable(path)}`);
}

const STATES: Readonly<Record<MadeStatement['state'], (statement: Statement) => string>> = {
  draft: () => '; a draft',
  'sent now': () => '; kept as sent',
  'sent before': ({ sent_at }) => `; as it was sent at ${sent_at}`,
};
