import { type Command, InvalidArgumentError } from 'commander';
import { sumOfAmounts } from '../../lib/decimal.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { userName } from '../../lib/runtime.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { CliError, EXIT } from '../errors.ts';
import { PURGE_CLASSES, type PurgeClass, type PurgePlan } from '../purge-plan.ts';
import { confirm, onInterrupt } from '../terminal/interaction.ts';
import { counted, type Output } from '../terminal/output.ts';
import { instant, type Run, verb } from '../verb.ts';
import { openWriter } from '../writer.ts';

interface Flags {
  readonly before: string;
  readonly only?: readonly PurgeClass[];
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function command(): Command {
  return verb(
    'purge',
    'Removes data that is older than a date and that no report needs: bodies of events, files that no total counts, ' +
      'refused items, old warehouses. Data in use or on hold is kept. Stop the worker first; the endpoint may keep running. ' +
      'docs/retention.md explains the consequences.',
    'billsync purge --before 2019-01-01 --dry-run\nbillsync purge --before 2019-01-01 --only files --reason "seven years" --yes',
  )
    .requiredOption('--before <date>', 'remove data older than this date, in UTC', instant)
    .option(
      '--only <classes>',
      `only these classes, comma-separated: ${PURGE_CLASSES.join(', ')}`,
      readClasses,
    )
    .option('--reason <text>', 'reason; stored in the archive and in the audit log')
    .option('--dry-run', 'show what would be removed and kept')
    .option('--yes', 'skip the confirmation')
    .json()
    .audited()
    .run(async ({ settings, output, flags, recordOutcome }: Run<Flags>) => {
      if (Date.parse(flags.before) > Date.now()) {
        throw new CliError(EXIT.usage, 'the date is in the future', {
          subject: `--before ${flags.before}`,
          hint: 'name a date in the past',
        });
      }
      const reason = flags.reason?.trim() ?? '';
      if (flags.dryRun !== true && reason === '') {
        throw new CliError(EXIT.usage, 'a purge needs a reason', { hint: 'add --reason "…", or --dry-run' });
      }
      const isDryRun = flags.dryRun === true;
      // Files that no total needs now must not be counted before they are removed.
      const { archive, warehouse, close } = await openWriter(settings, 'purge', { isAlone: !isDryRun });
      try {
        const { planPurge } = await import('../purge-plan.ts');
        const quarantine = await openQuarantine(dataFolder(settings.dataDir).quarantine);
        const plan = await planPurge({
          ...{ archive, warehouse, quarantine, before: flags.before, dataDir: settings.dataDir },
          classes: new Set(flags.only ?? PURGE_CLASSES),
        });
        if (isDryRun) return printPlan(output, plan, isDryRun);
        printRows(output, plan);
        await confirm(`Remove ${summary(plan)}?`, flags);
        const { runPurge } = await import('../purge-plan.ts');
        const progress = output.progress('Removing');
        const onProgress = (done: number, of: number): void => progress.update(done, of);
        const by = userName();
        await onInterrupt('Stopped. Removed data is on record; run the command again for the rest.', () =>
          runPurge(plan, { archive, quarantine, by, reason, onProgress }),
        ).finally(() => progress.end());
        recordOutcome(`Removed ${summary(plan)}.`);
        printPlan(output, plan, isDryRun);
      } finally {
        await close();
      }
    });
}

function readClasses(text: string): readonly PurgeClass[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !(PURGE_CLASSES as readonly string[]).includes(name));
  if (unknown.length > 0) throw new InvalidArgumentError(`It takes some of ${PURGE_CLASSES.join(', ')}.`);
  return names as PurgeClass[];
}

function rowsOf(plan: PurgePlan) {
  return PURGE_CLASSES.map((name) => ({
    class: name,
    count: plan[name].length,
    size_bytes: plan[name].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    in_flight: plan.kept[name].inFlight,
    on_hold: plan.kept[name].onHold,
  }));
}

function summary(plan: PurgePlan): string {
  const names = {
    events: 'event body',
    files: 'file',
    refused: 'refused item',
    copies: 'old warehouse',
  } as const satisfies Record<PurgeClass, string>;
  const plural = (name: PurgeClass): string =>
    name === 'events' && plan.events.length !== 1
      ? `${plan.events.length} event bodies`
      : counted(plan[name].length, names[name]);
  return PURGE_CLASSES.map(plural).join(', ');
}

function rowsGoing(plan: PurgePlan) {
  const sums = new Map<string, { shipments: number; cost: string }>();
  for (const { shipments, billingCost, currencyCode } of plan.files) {
    if (shipments === null || billingCost === null) continue;
    const code = currencyCode ?? '';
    const sum = sums.get(code) ?? { shipments: 0, cost: '0' };
    sums.set(code, { shipments: sum.shipments + shipments, cost: sumOfAmounts([sum.cost, billingCost]) });
  }
  return [...sums].map(([currency_code, { shipments, cost }]) => ({
    currency_code,
    shipments,
    billing_cost: cost,
  }));
}

function printRows(output: Output, plan: PurgePlan): void {
  const going = rowsGoing(plan);
  if (going.length === 0) return;
  const sums = going.map(
    ({ shipments, billing_cost, currency_code }) =>
      `${counted(shipments, 'shipment')} of ${billing_cost} ${currency_code}`,
  );
  output.note(
    `No total counts these rows, but reports of voided and replaced files show them: ${sums.join(', ')}. ` +
      'They remain in the warehouse until `billsync rebuild`, which leaves them out.',
  );
}

function printPlan(output: Output, plan: PurgePlan, isDryRun: boolean): void {
  if (output.form === 'table') {
    output.rows(rowsOf(plan), [
      { title: 'class', value: (row) => row.class },
      { title: isDryRun ? 'would be removed' : 'removed', value: (row) => row.count, align: 'right' },
      { title: 'bytes', value: (row) => row.size_bytes, align: 'right' },
      { title: 'kept: in progress', value: (row) => row.in_flight, align: 'right' },
      { title: 'kept: on hold', value: (row) => row.on_hold, align: 'right' },
    ]);
    if (isDryRun) {
      printRows(output, plan);
      output.note('Nothing was removed.');
    }
    return;
  }
  const document = {
    before: plan.before,
    is_dry_run: isDryRun,
    classes: rowsOf(plan),
    uncounted_rows: rowsGoing(plan),
    files: plan.files.map(({ sha256, invoiceId, invoiceNumber, why, sizeBytes }) => ({
      file_sha256: sha256,
      invoice_id: invoiceId,
      invoice_number: invoiceNumber,
      why,
      size_bytes: sizeBytes,
    })),
  };
  output.thing(document, () => '');
}
