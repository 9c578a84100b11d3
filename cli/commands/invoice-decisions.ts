import type { Settings } from '../../lib/config/settings.ts';
import { userName } from '../../lib/runtime.ts';
import type { Decided, Decision } from '../../lib/warehouse-requests.ts';
import { CliError, EXIT } from '../errors.ts';
import { invoiceName, publishedInvoice } from '../find-invoices.ts';
import { CANNOT_BE_UNDONE, confirm } from '../terminal/interaction.ts';
import { printable } from '../terminal/table.ts';
import { type Run, type Verb, verb } from '../verb.ts';
import { withWriter, workerIsRunning } from '../writer.ts';

interface Flags {
  readonly reason: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

type DecisionRequest =
  | { readonly kind: 'restore' }
  | { readonly kind: 'use-version'; readonly version: number };

export function restoreCommand(): Verb {
  const command = verb(
    'restore <invoice>',
    'Makes an invoice count again that an event voided and that the service confirms as valid.',
    'billsync invoices restore INV-000042 --reason "the service confirmed by phone that it is valid"',
  );
  return withFlags(command).run((run: Run<Flags>, idOrNumber: string) =>
    runDecision(run, {
      idOrNumber,
      request: { kind: 'restore' },
      what: 'Restore',
      after: CANNOT_BE_UNDONE,
    }),
  );
}

export function useVersionCommand(): Verb {
  const command = verb(
    'use-version <invoice> <version>',
    'Makes another loaded file of an invoice count, until the service announces a new one.',
    'billsync invoices use-version INV-000042 1 --reason "version 2 lacks a carrier"',
  );
  return withFlags(command).run((run: Run<Flags>, idOrNumber: string, versionText: string) => {
    if (!/^[1-9]\d{0,8}$/.test(versionText)) {
      throw new CliError(EXIT.usage, `${printable(versionText)} is not a version`, {
        hint: 'it is a whole number; `billsync invoices show` lists the versions of an invoice',
      });
    }
    const request = { kind: 'use-version', version: Number(versionText) } as const;
    const after = 'use-version with the version that counts now undoes it';
    return runDecision(run, { idOrNumber, request, what: `Count version ${versionText} of`, after });
  });
}

function withFlags(command: Verb): Verb {
  return command
    .audited()
    .requiredOption('--reason <why>', 'reason; stored with your name and the time')
    .option('--dry-run', 'show what would be done')
    .option('--yes', 'skip the confirmation');
}

async function runDecision(
  { settings, output, flags }: Run<Flags>,
  given: {
    readonly idOrNumber: string;
    readonly request: DecisionRequest;
    readonly what: string;
    readonly after: string;
  },
): Promise<void> {
  const { idOrNumber, request, what } = given;
  const reason = flags.reason.trim();
  if (reason === '')
    throw new CliError(EXIT.usage, '--reason is empty', { hint: 'give the reason in a few words' });
  const invoice = await publishedInvoice(settings, idOrNumber);
  const invoiceId = String(invoice.invoice_id);
  const name = `invoice ${invoiceName(invoice)}`;
  const isDryRun = flags.dryRun === true;
  if (!isDryRun) await confirm(`${what} ${name} (${String(invoice.state)})?`, flags, given.after);
  const decision: Decision = { ...request, invoiceId, by: userName(), reason, isDryRun };
  const decided = await takeDecision(settings, decision);
  if (decided.outcome !== 'done') throw refusedDecision(decided, name);
  if (isDryRun) return output.note(`Would ${what.toLowerCase()} ${name}.`);
  const state = decided.state ?? 'unknown';
  const counts = request.kind === 'use-version' ? `version ${request.version} counts, and ` : '';
  output.note(
    `Done: ${counts}${name} is ${state} now. \`billsync invoices show ${invoiceId}\` shows user, time and reason.`,
  );
}

async function takeDecision(settings: Settings, decision: Decision): Promise<Decided> {
  // A lake has many writers and no lock to take.
  if (decision.isDryRun && settings.warehouse.kind === 'duckdb' && !(await workerIsRunning(settings))) {
    const { publishedPath } = await import('../published.ts');
    const { dryRunDecision } = await import('../../warehouse/explain-published.ts');
    return dryRunDecision(publishedPath(settings), decision);
  }
  return withWriter(settings, {
    role: 'decide',
    async request(client) {
      const { requestDecision } = await import('../../workflows/client/writer-client.ts');
      const decided = await requestDecision(client, settings, decision);
      const partnerId = decided.partnerId ?? settings.partnerId;
      // The invoice's workflow may wait for this decision, or may have stopped fetching the file.
      if (
        decision.kind === 'restore' &&
        decided.outcome === 'done' &&
        !decision.isDryRun &&
        partnerId !== null
      ) {
        const { lookUpInvoice } = await import('../../workflows/client/invoice-client.ts');
        const address = { partnerId, invoiceId: decision.invoiceId };
        await lookUpInvoice(client, settings, address);
      }
      return decided;
    },
    async direct(warehouse) {
      const decided = await warehouse.decide(decision);
      if (decided.outcome === 'done' && !decision.isDryRun) await warehouse.publish();
      return decided;
    },
  });
}

function refusedDecision({ outcome, state, versions }: Decided, name: string): CliError {
  switch (outcome) {
    case 'not-voided':
      return new CliError(EXIT.nothingMatched, `${name} is not voided, it is ${state}`);
    case 'voided-by-service':
      return new CliError(EXIT.usage, `${name} is voided by the service itself`, {
        hint: 'it cannot be restored here; the billing service has to bill it again',
      });
    case 'no-such-version':
      return new CliError(EXIT.nothingMatched, `${name} has no such version`, {
        hint: versions.length === 0 ? 'no file of it is loaded' : `it has ${versions.join(', ')}`,
      });
    case 'counts-already':
      return new CliError(EXIT.nothingMatched, `that version of ${name} counts already`);
    default:
      return new CliError(EXIT.nothingMatched, `nothing is known of ${name}`);
  }
}
