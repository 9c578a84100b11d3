/** Commands for deliveries: the log, a test event, a resent event. */

import type { Command } from 'commander';
import { type Delivery, EVENT_TYPES } from '../model.ts';
import { group } from './invoices.ts';
import { ask, table, type VerbOptions, verb } from './verb.ts';
import { pathOf } from './webhooks.ts';
import { given, wholeNumber } from './words.ts';

export function testEventCommand(): Command {
  return verb('test-event [registrationId]', {
    description: 'send a test payload to a webhook, active or not; to every one when none is named',
    example: 'test-event 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --event invoice_created',
    writes: true,
  })
    .option('--event, --event-type <type>', `one of ${EVENT_TYPES.join(', ')}`)
    .action((id: string | undefined, { eventType, ...options }: VerbOptions & { eventType?: string }) => {
      const body = given({ eventType });
      const path = id === undefined ? '/registrations' : pathOf(id);
      return ask(options, { method: 'POST', path: `${path}/test-event`, body }, (answer) =>
        deliveryTable(Array.isArray(answer) ? (answer as Delivery[]) : [answer as Delivery]),
      );
    });
}

export function resendCommand(): Command {
  return verb('resend <eventId>', {
    description: 'deliver an event once more',
    example: 'resend 9fc82c2c-f7a8-42f0-a415-59cc23f7adf8',
    writes: true,
  })
    .option('--webhook <registrationId>', 'to this webhook only')
    .action((eventId: string, { webhook, ...options }: VerbOptions & { webhook?: string }) => {
      const body = given({ registrationId: webhook });
      const path = `/events/${encodeURIComponent(eventId)}/resend`;
      return ask(options, { method: 'POST', path, body }, (answer) =>
        deliveryTable(answer as readonly Delivery[]),
      );
    });
}

export function deliveriesCommand(): Command {
  const list = verb('list', {
    description: 'list deliveries with their attempts, newest first',
    example: 'deliveries list --state failed',
  })
    .option('--state <state>', 'one of pending, delivered, failed, dropped')
    .option('--invoice <invoiceId>', 'of one invoice')
    .option('--limit <number>', 'how many at most (100)', wholeNumber)
    .action(
      ({
        state,
        invoice,
        limit,
        ...options
      }: VerbOptions & { state?: string; invoice?: string; limit?: number }) => {
        const query = new URLSearchParams(
          given({ state, invoiceId: invoice, limit }) as Record<string, string>,
        );
        return ask(options, { method: 'GET', path: `/deliveries?${query}` }, (answer) =>
          deliveryTable(answer as readonly Delivery[]),
        );
      },
    );
  const show = verb('show <deliveryId>', {
    description: 'show one delivery with its payload and attempts',
    example: 'deliveries show 3b67d484-e27a-4590-9ac9-c196b482a073',
  }).action((id: string, options: VerbOptions) =>
    ask(options, { method: 'GET', path: `/deliveries/${encodeURIComponent(id)}` }, (answer) => [
      JSON.stringify(answer, null, 2),
    ]),
  );
  return group('deliveries', 'the delivery log', [list, show]);
}

function deliveryTable(deliveries: readonly Delivery[]): string[] {
  return table(
    ['DELIVERY ID', 'EVENT', 'STATE', 'ATTEMPTS', 'LAST', 'WEBHOOK', 'EVENT ID'],
    deliveries.map((one) => [
      one.deliveryId,
      one.eventType,
      one.state,
      one.attempts.length,
      one.attempts.at(-1)?.status ?? one.attempts.at(-1)?.error,
      one.registrationName,
      one.eventId,
    ]),
  );
}
