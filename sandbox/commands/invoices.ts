/** Commands for invoices: create, submit, approve, cancel, repair, list. */
import { Argument, Command } from 'commander';
import { EVENT_TYPES, INTERNAL_STATUSES, type Invoice } from '../model.ts';
import { ask, CommandFailure, conclude, EXIT, table, type VerbOptions, verb } from './verb.ts';
import { collect, given, jsonFile, pairs, wholeNumber } from './words.ts';

interface TriggerOptions extends VerbOptions {
  readonly tenant?: string;
  readonly partnerLevel?: boolean;
  readonly shipments?: number;
  readonly times?: number;
  readonly set?: readonly string[];
  readonly file?: string;
}

interface ListOptions extends VerbOptions {
  readonly status?: string;
  readonly tenant?: string;
  readonly limit?: number;
}

export function triggerCommand(): Command {
  return verb('trigger', {
    description: 'generate an invoice and take it as far as the event',
    example: 'trigger invoice_finalized --tenant 000417 --shipments 40 --set currencyCode=EUR',
    writes: true,
  })
    .addArgument(new Argument('<event>', 'the event to bring about').choices(EVENT_TYPES))
    .option('--tenant <tenant>', "tenant by name, id or the partner's own id")
    .option('--partner-level', 'one invoice that sums those of the tenants')
    .option('--shipments <number>', 'rows of the invoice', wholeNumber)
    .option('--times <number>', 'how many invoices', wholeNumber)
    .option('--set <field=value>', 'set a field of the invoice; may be repeated', collect)
    .option('--file <file>', 'JSON with tenant, shipments, set as in POST /invoices; - is stdin')
    .action((eventType: string, options: TriggerOptions) =>
      conclude(options, async () => {
        const body = { eventType, ...given({ times: options.times }), invoice: invoiceOf(options) };
        await ask(options, { method: 'POST', path: '/trigger', body }, (answer) =>
          invoiceTable(answer as readonly Invoice[]),
        );
      }),
    );
}

export function moveCommands(): Command[] {
  const moves = [
    ['submit', 'send a draft to approval; emits nothing'],
    ['approve', 'approve an invoice, which exports it and emits invoice_finalized'],
    ['cancel', 'cancel an invoice, which emits invoice_voided'],
    ['repair', 'export an approved invoice again, rightly, without an event'],
  ] as const;
  const single = moves.map(([name, description]) =>
    verb(`${name} ${isBulk(name) ? '[invoiceId]' : '<invoiceId>'}`, {
      description,
      example: `${name} 66271f59-6785-4f34-b6a1-dc40606f2d81`,
      writes: true,
    }).action((invoiceId: string | undefined, options: VerbOptions & { readonly all?: boolean }) =>
      conclude(options, () => move(name, invoiceId, options)),
    ),
  );
  for (const command of single) {
    if (isBulk(command.name())) command.option('--all', `every invoice that is ready to ${command.name()}`);
  }
  return single;
}

function isBulk(name: string): boolean {
  return name === 'submit' || name === 'approve';
}

function move(
  name: string,
  invoiceId: string | undefined,
  options: VerbOptions & { readonly all?: boolean },
): Promise<void> {
  if ((invoiceId === undefined) !== (options.all === true)) {
    throw new CommandFailure(EXIT.usage, ['Name one invoice, or say --all.']);
  }
  const path = invoiceId === undefined ? '' : `/${encodeURIComponent(invoiceId)}`;
  return ask(options, { method: 'POST', path: `/invoices${path}/${name}` }, (answer) =>
    Array.isArray(answer)
      ? (answer as Invoice[]).map((one) => `${one.invoiceId}  ${one.invoiceNumber}  ${one.status}`)
      : invoiceTable([answer as Invoice]),
  );
}

export function invoicesCommand(): Command {
  const list = verb('list', {
    description: 'list invoices, newest first',
    example: 'invoices list --status APPROVED',
  })
    .option('--status <status>', `one of ${INTERNAL_STATUSES.join(', ')}`)
    .option('--tenant <tenant>', "tenant by name, id or the partner's own id")
    .option('--limit <number>', 'how many at most (100)', wholeNumber)
    .action(({ status, tenant, limit, ...options }: ListOptions) => {
      const query = new URLSearchParams(given({ status, tenant, limit }) as Record<string, string>);
      return ask(options, { method: 'GET', path: `/invoices?${query}` }, (answer) =>
        invoiceTable(answer as readonly Invoice[]),
      );
    });
  const show = verb('show <invoiceId>', {
    description: 'show one invoice with its history and files',
    example: 'invoices show 66271f59-6785-4f34-b6a1-dc40606f2d81 --json',
  }).action((invoiceId: string, options: VerbOptions) =>
    ask(options, { method: 'GET', path: `/invoices/${encodeURIComponent(invoiceId)}` }, (answer) => [
      JSON.stringify(answer, null, 2),
    ]),
  );
  return group('invoices', 'what the service has billed', [list, show]);
}

/** A word with verbs below it. */
export function group(name: string, description: string, verbs: readonly Command[]): Command {
  const example = `\nExample:\n  billsync sandbox ${name} ${verbs[0]?.name() ?? ''}`;
  const command = new Command(name).description(description).addHelpText('after', example);
  for (const one of verbs) command.addCommand(one);
  return command;
}

/** Merges options and file; options take precedence, field by field. */
function invoiceOf({ file, tenant, partnerLevel, shipments, set }: TriggerOptions): Record<string, unknown> {
  const fromFile = file === undefined ? {} : jsonFile(file);
  const fields = { ...(fromFile.set as object | undefined), ...pairs(set) };
  return {
    ...fromFile,
    ...given({ tenant, partnerLevel, shipments }),
    ...(Object.keys(fields).length === 0 ? {} : { set: fields }),
  };
}

function invoiceTable(invoices: readonly Invoice[]): string[] {
  return table(
    ['INVOICE ID', 'NUMBER', 'STATUS', 'ROWS', 'TOTAL', 'CURRENCY', 'LEVEL'],
    invoices.map((one) => [
      one.invoiceId,
      one.invoiceNumber,
      one.status,
      one.shipmentCount,
      one.totalAmount,
      one.currencyCode,
      one.tenantId === null ? 'partner' : 'tenant',
    ]),
  );
}
