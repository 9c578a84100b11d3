import type { Command } from 'commander';
import { type Delivery, EVENT_TYPES } from '../model.ts';
import { given, path, wholeNumber, withQuery } from './arguments.ts';
import { group, table, verb } from './verb.ts';

export function testEventCommand(): Command {
  return verb('test-event [registrationId]', {
    description: 'send a test payload to a webhook, active or not; without an id, to every webhook',
    example: 'test-event 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --event invoice_created',
    writes: true,
    options: (command) => command.option('--event, --event-type <type>', `one of ${EVENT_TYPES.join(', ')}`),
    call: (id, { eventType }) => ({
      method: 'POST',
      path: id === '' ? '/registrations/test-event' : path`/registrations/${id}/test-event`,
      body: given({ eventType }),
    }),
    print: deliveryTable,
  });
}

export function resendCommand(): Command {
  return verb('resend <eventId>', {
    description: 'deliver an event once more',
    example: 'resend 9fc82c2c-f7a8-42f0-a415-59cc23f7adf8',
    writes: true,
    options: (command) => command.option('--webhook <registrationId>', 'to this webhook only'),
    call: (eventId, { webhook }) => ({
      method: 'POST',
      path: path`/events/${eventId}/resend`,
      body: given({ registrationId: webhook }),
    }),
    print: deliveryTable,
  });
}

export function deliveriesCommand(): Command {
  const list = verb('list', {
    description: 'list deliveries with their attempts, newest first',
    example: 'deliveries list --state failed',
    options: (command) =>
      command
        .option('--state <state>', 'one of pending, delivered, failed, dropped')
        .option('--invoice <invoiceId>', 'of one invoice')
        .option('--limit <number>', 'maximum number (100)', wholeNumber),
    call: (_, { state, invoice, limit }) => ({
      method: 'GET',
      path: withQuery('/deliveries', { state, invoiceId: invoice, limit }),
    }),
    print: deliveryTable,
  });
  const show = verb('show <deliveryId>', {
    description: 'show one delivery with its payload and attempts',
    example: 'deliveries show 3b67d484-e27a-4590-9ac9-c196b482a073',
    call: (id) => ({ method: 'GET', path: path`/deliveries/${id}` }),
    print: (answer) => [JSON.stringify(answer, null, 2)],
  });
  return group('deliveries', 'the delivery log', [list, show]);
}

function deliveryTable(answer: unknown): string[] {
  const rows = ([answer].flat() as Delivery[]).map(({ attempts, ...delivery }) => {
    const last = attempts.at(-1);
    return { ...delivery, attempts: attempts.length, last: last?.status ?? last?.error };
  });
  return table(rows, [
    ...['deliveryId', 'eventType', 'state', 'attempts', 'last', 'registrationName', 'eventId'],
  ]);
}
