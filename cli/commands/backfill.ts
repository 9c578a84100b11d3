import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import type { Settings } from '../../lib/config/settings.ts';
import { addPathToError } from '../../lib/system-errors.ts';
import type { BackfillHandle, BackfillOutcome } from '../../workflows/client/backfill-client.ts';
import { CliError, EXIT } from '../errors.ts';
import { idsOf, type NamedInvoice, readInvoices } from '../find-invoices.ts';
import { onInterrupt } from '../terminal/interaction.ts';
import { counted, type Output, paceOf } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { positiveInteger, type Run, seconds, verb } from '../verb.ts';
import { withTemporal } from '../with-temporal.ts';

interface BackfillFlags {
  readonly ids?: string;
  readonly wait?: boolean;
  readonly concurrency: number;
  readonly timeout?: number;
  readonly dryRun?: boolean;
  readonly follow?: string;
  readonly control?: 'pause' | 'resume' | 'cancel';
}

export function command(): Command {
  return verb(
    'backfill [invoice...]',
    'Fetches invoices by id, or by a number that billsync knows: from arguments, or from a file with lines, CSV (column invoice_id) or JSON lines.',
    'billsync backfill INV-000042 --wait\nbillsync backfill --ids missing.csv --wait\ncat ids.txt | billsync backfill --ids - --wait --ndjson\n' +
      'billsync backfill --follow BACKFILL_ID --control pause',
  )
    .option('--ids <file>', 'read ids or numbers from this file; - reads stdin')
    .option('--wait', 'print each result, and return once all are published; exit 1 if one needs attention')
    .option(
      '--timeout <seconds>',
      'with --wait: stop waiting after this time; the backfill continues',
      seconds,
    )
    .option('--concurrency <number>', 'number of invoices to fetch at the same time', positiveInteger, 20)
    .option('--follow <backfill>', 'show or control an earlier backfill instead of starting one')
    .option('--control <what>', 'with --follow: pause, resume or cancel')
    .option('--dry-run', 'show what would be fetched or controlled')
    .ndjson()
    .audited((flags: BackfillFlags) => flags.follow === undefined || flags.control !== undefined)
    .run(async ({ settings, output, flags }: Run<BackfillFlags>, named: readonly string[]) => {
      if (flags.follow !== undefined) return await printFollowed(settings, flags.follow, flags, output);
      const invoiceIds = await idsOf(settings, await gatherInvoices(named, flags));
      if (flags.dryRun === true) {
        output.rows(
          invoiceIds.map((invoice_id) => ({ invoice_id })),
          [{ title: 'would fetch', value: ({ invoice_id }) => invoice_id }],
        );
        return;
      }
      const { partnerIdOf } = await import('../with-temporal.ts');
      const partnerId = await partnerIdOf(settings);
      const { concurrency } = flags;
      const { startBackfill } = await import('../../workflows/client/backfill-client.ts');
      await withTemporal(settings, async (client) => {
        const submitting = output.progress('Submitting');
        let isAnnounced = false;
        const handle = await startBackfill(client, settings, {
          ...{ partnerId, invoiceIds, concurrency },
          onSent(ids, backfillId) {
            // The id of the backfill is printed before it ends, so that it can be followed if this command ends first.
            if (!isAnnounced)
              output.note(`Backfill ${backfillId} fetches ${counted(invoiceIds.length, 'invoice')}.`);
            isAnnounced = true;
            submitting.update(ids, invoiceIds.length);
          },
        }).finally(() => submitting.end());
        if (flags.wait === true)
          return await watchUntilInterrupt(handle, () =>
            waitFor({ client, settings, handle, flags, output }),
          );
        output.thing({ backfill_id: handle.backfillId, total: invoiceIds.length }, () => handle.backfillId);
      });
    });
}

async function gatherInvoices(
  given: readonly string[],
  flags: BackfillFlags,
): Promise<readonly NamedInvoice[]> {
  const names = given.flatMap((argument) => argument.split('\n')).map((name) => name.trim());
  const named: NamedInvoice[] = names.filter((name) => name !== '').map((name) => ({ name, place: null }));
  if (flags.ids !== undefined) {
    named.push(...(flags.ids === '-' ? readInvoices(await text(process.stdin)) : await readIds(flags.ids)));
  }
  if (named.length > 0) return named;
  throw new CliError(EXIT.nothingMatched, 'there is no invoice to fetch', {
    hint: 'name ids or numbers, or a file with --ids FILE; - reads stdin',
  });
}

async function printFollowed(
  settings: Settings,
  backfillId: string,
  flags: BackfillFlags,
  output: Output,
): Promise<void> {
  const { control } = flags;
  if (control !== undefined && !['pause', 'resume', 'cancel'].includes(control)) {
    throw new CliError(EXIT.usage, `${printable(control)} is not an action on a backfill`, {
      hint: 'use pause, resume or cancel',
    });
  }
  const { followBackfill } = await import('../../workflows/client/backfill-client.ts');
  await withTemporal(settings, async (client) => {
    const handle = followBackfill(client, settings, backfillId);
    if (control !== undefined && flags.dryRun === true) return output.note(`Would ${control} ${backfillId}.`);
    if (control !== undefined) await handle.control(control);
    if (flags.wait === true)
      return await watchUntilInterrupt(handle, () => waitFor({ client, settings, handle, flags, output }));
    const { total, done, inProgress, control: state, isOver, isComplete, counts } = await handle.status();
    if (isOver && !isComplete) output.note(NOT_ALL);
    const document = {
      ...{ backfill_id: backfillId, total, done, in_progress: inProgress },
      ...{ control: state, over: isOver, complete: isComplete, counts },
    };
    output.thing(document, () => {
      const parts = Object.entries(counts).filter(([, count]) => count > 0);
      return `${done} of ${total} done (${parts.map(([name, count]) => `${count} ${name}`).join(', ') || 'none yet'}), ${inProgress} in progress`;
    });
  });
}

export function watchUntilInterrupt<T>({ backfillId }: BackfillHandle, watch: () => Promise<T>): Promise<T> {
  const again = `billsync backfill --follow ${backfillId} --wait`;
  return onInterrupt(`Stopped waiting; the backfill continues. \`${again}\` waits for it again.`, watch);
}

export interface Waiting {
  readonly client: Client;
  readonly settings: Settings;
  readonly handle: BackfillHandle;
  readonly flags: Pick<BackfillFlags, 'timeout'>;
  readonly output: Output;
}

export async function waitFor({ client, settings, handle, flags, output }: Waiting): Promise<void> {
  if (!(await printResults(handle, flags, output))) return;
  const { requestSnapshot } = await import('../../workflows/client/writer-client.ts');
  const progress = output.progress('Publishing');
  await requestSnapshot(client, settings).finally(() => progress.end());
}

async function printResults(
  handle: BackfillHandle,
  flags: Pick<BackfillFlags, 'timeout'>,
  output: Output,
): Promise<boolean> {
  const progress = output.progress('Fetching');
  const pace = paceOf('invoices');
  const outcomes: BackfillOutcome[] = [];
  const timeout = flags.timeout === undefined ? undefined : AbortSignal.timeout(flags.timeout * 1000);
  const begun = await handle.status();
  const { total } = begun;
  try {
    for await (const outcome of handle.results(timeout === undefined ? {} : { signal: timeout })) {
      outcomes.push(outcome);
      if (output.form === 'ndjson') output.line(asJson(outcome));
      else if (output.form === 'table') output.text(`${outcomeLine(outcome)}\n`);
      progress.update(outcomes.length, total, pace(outcomes.length, total));
    }
  } finally {
    progress.end();
  }
  const ended = timeout?.aborted === true ? begun : await handle.status();
  const { total: handedOver, isOver, isComplete } = ended;
  if (output.form === 'json') output.thing(outcomes.map(asJson), () => '');
  const settled = outcomes.filter(({ state }) => state === 'loaded' || state === 'voided').length;
  output.note(`${settled} of ${handedOver} loaded or voided.`);
  if (isOver && !isComplete) output.note(NOT_ALL);
  if (!isOver || !isComplete || settled < handedOver) process.exitCode = EXIT.checkFailed;
  return outcomes.length > 0 && timeout?.aborted !== true;
}

const NOT_ALL =
  'Not all ids were submitted: the backfill was cancelled, or the command that submitted them ended. Name the rest again.';

function outcomeLine(outcome: BackfillOutcome): string {
  const { invoice_id, state, reason } = asJson(outcome);
  return `${invoice_id}  ${state}${reason === null ? '' : `  ${printable(reason)}`}`;
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  unknown: 'The service has no invoice with this id.',
  draft: 'It is not finalized yet; its workflow waits for that.',
};

function asJson({ invoiceId, state, reason }: BackfillOutcome) {
  return { invoice_id: invoiceId, state, reason: reason ?? EXPLANATIONS[state] ?? null };
}

async function readIds(path: string): Promise<readonly NamedInvoice[]> {
  const bytes = await readFile(path).catch(addPathToError(path));
  if (!isUtf8(bytes))
    throw new CliError(EXIT.usage, 'the file is not UTF-8', {
      subject: path,
      hint: 'save the file as "CSV UTF-8", or convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE',
    });
  const named = readInvoices(bytes.toString('utf8'));
  if (named.length > 0) return named;
  throw new CliError(EXIT.usage, 'the file names no invoice', {
    subject: path,
    hint: 'write one id or number on each line',
  });
}
