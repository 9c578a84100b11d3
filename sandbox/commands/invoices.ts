import { Argument, type Command } from 'commander';
import { EVENT_TYPES, INTERNAL_STATUSES } from '../model.ts';
import { collect, given, jsonFile, pairs, path, wholeNumber, withQuery } from './arguments.ts';
import { CommandFailure, EXIT, group, type Options, verb } from './verb.ts';

const INVOICE = [
  ...['invoiceId', 'invoiceNumber', 'status', 'shipmentCount', 'totalAmount', 'currencyCode', 'tenantId'],
];
export const MOVED = ['invoiceId', 'invoiceNumber', 'status'];

export function triggerCommand(): Command {
  return verb('trigger', {
    description: 'generate an invoice and take it as far as the event',
    example: 'trigger invoice_finalized --tenant 000417 --shipments 40 --set currencyCode=EUR',
    writes: true,
    options: (command) =>
      command
        .addArgument(new Argument('<event>', 'the event of the last step').choices(EVENT_TYPES))
        .option('--tenant <tenant>', "tenant by name, id or the partner's own id")
        .option('--partner-level', 'one invoice that sums those of the tenants')
        .option('--shipments <number>', 'rows of the invoice', wholeNumber)
        .option('--times <number>', 'number of invoices', wholeNumber)
        .option('--set <field=value>', 'set a field of the invoice; repeatable', collect)
        .option('--file <file>', 'JSON with tenant, shipments, set as in POST /invoices; - is stdin'),
    call: (eventType, options) => ({
      method: 'POST',
      path: '/trigger',
      body: { eventType, ...given({ times: options.times }), invoice: invoiceOf(options) },
    }),
    print: INVOICE,
  });
}

export function moveCommands(): Command[] {
  return [
    bulkMove('submit', 'submit a draft for approval; emits nothing'),
    bulkMove('approve', 'approve an invoice, which exports it and emits invoice_finalized'),
    move('cancel', 'cancel an invoice, which emits invoice_voided'),
    move('repair', 'export an approved invoice again without a fault and without an event'),
  ];
}

function move(name: string, description: string): Command {
  return verb(`${name} <invoiceId>`, {
    description,
    example: `${name} 66271f59-6785-4f34-b6a1-dc40606f2d81`,
    writes: true,
    call: (invoiceId) => ({ method: 'POST', path: path`/invoices/${invoiceId}/${name}` }),
    print: INVOICE,
  });
}

function bulkMove(name: string, description: string): Command {
  return verb(`${name} [invoiceId]`, {
    description,
    example: `${name} 66271f59-6785-4f34-b6a1-dc40606f2d81`,
    writes: true,
    options: (command) => command.option('--all', `every invoice that is ready to ${name}`),
    call: (invoiceId, { all }) => {
      if ((invoiceId === '') !== (all === true))
        throw new CommandFailure(EXIT.usage, ['Name one invoice, or use --all.']);
      return {
        method: 'POST',
        path: all === true ? path`/invoices/${name}` : path`/invoices/${invoiceId}/${name}`,
      };
    },
    print: MOVED,
  });
}

export function invoicesCommand(): Command {
  const list = verb('list', {
    description: 'list invoices, newest first',
    example: 'invoices list --status APPROVED',
    options: (command) =>
      command
        .option('--status <status>', `one of ${INTERNAL_STATUSES.join(', ')}`)
        .option('--tenant <tenant>', "tenant by name, id or the partner's own id")
        .option('--limit <number>', 'maximum number (100)', wholeNumber),
    call: (_, { status, tenant, limit }) => ({
      method: 'GET',
      path: withQuery('/invoices', { status, tenant, limit }),
    }),
    print: INVOICE,
  });
  const show = verb('show <invoiceId>', {
    description: 'show one invoice with its history and files',
    example: 'invoices show 66271f59-6785-4f34-b6a1-dc40606f2d81 --json',
    call: (invoiceId) => ({ method: 'GET', path: path`/invoices/${invoiceId}` }),
    print: (answer) => [JSON.stringify(answer, null, 2)],
  });
  return group('invoices', 'the invoices of the account', [list, show]);
}

/** Options replace the fields of the file one by one. */
function invoiceOf({ file, tenant, partnerLevel, shipments, set }: Options): Record<string, unknown> {
  const fromFile = file === undefined ? {} : jsonFile(String(file));
  const fields = { ...(fromFile.set as object | undefined), ...pairs(set) };
  return {
    ...fromFile,
    ...given({ tenant, partnerLevel, shipments }),
    ...(Object.keys(fields).length === 0 ? {} : { set: fields }),
  };
}
