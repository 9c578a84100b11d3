import { FAULTS as CATALOGUE, PLACES } from '../../faults/fault-catalogue.ts';
import type { NewFault } from '../../faults/faults.ts';
import { MALFORMATIONS } from '../../faults/malformed-csv.ts';
import { field, grouped, mapOf, oneOf, operation, text, whole } from './operation.ts';

const COLUMNS = ['faultId', 'name', 'rate', 'struck', 'count', 'target'];

export const FAULTS = grouped('Faults', [
  operation({
    route: 'GET /faults',
    about: 'list the active faults',
    command: 'fault list',
    print: COLUMNS,
    run: ({ faults }) => faults.list(),
  }),
  operation({
    route: 'GET /fault-catalogue',
    about: 'list every fault and every kind of malformed CSV',
    command: 'fault names',
    print: {
      faults: ['name', 'places', 'params', 'description'],
      malformations: ['kind', 'description'],
    },
    run: () => ({
      faults: Object.entries(CATALOGUE).map(([name, definition]) => ({ name, ...definition })),
      malformations: Object.entries(MALFORMATIONS).map(([kind, { description }]) => ({ kind, description })),
    }),
  }),
  operation<NewFault>({
    route: 'POST /faults',
    about: 'switch a fault on',
    body: {
      name: field(text, '<name>', 'as in `fault names`'),
      rate: field(
        { type: 'number' },
        '--rate <share>',
        'share of the moments at which it strikes, 0 to 1 (1)',
      ),
      count: field({ type: 'integer' }, '--count <number>', 'maximum number of strikes'),
      after: field(whole, '--after <number>', 'matching moments that pass first'),
      forMs: field({ type: 'number' }, '--for <seconds>', 'duration', 'milliseconds'),
      seed: field({ type: 'integer' }, '--seed <number>', 'seed of its draws'),
      target: {
        fields: {
          invoiceId: field(text, '--invoice <invoiceId>', 'only this invoice'),
          tenant: field(text, '--tenant <tenant>', 'only this tenant'),
          endpoint: field(
            { anyOf: [oneOf(PLACES), { type: 'array', items: oneOf(PLACES) }] },
            '--endpoint <place>',
            'only here; repeatable',
          ),
          eventType: field(text, '--event, --event-type <type>', 'only this event type'),
          registrationId: field(text, '--webhook <registrationId>', 'only this webhook'),
        },
      },
      params: field(
        mapOf({ type: ['string', 'number', 'boolean'] }),
        '--set <setting=value>',
        'a setting of the fault; repeatable',
        'pairs',
      ),
    },
    required: ['name'],
    status: 201,
    sample: { name: 'wrong-hash', rate: 0.5, count: 3, target: { endpoint: 'event' } },
    command: 'fault add',
    example: 'malformed-csv --tenant 000417 --count 1 --set kind=bare-quote',
    print: COLUMNS,
    run: ({ faults }, { body }) => faults.add(body),
  }),
  operation({
    route: 'DELETE /faults',
    about: 'switch all faults off',
    status: 204,
    run: ({ faults }) => faults.clear(),
  }),
  operation({
    route: 'DELETE /faults/:id',
    about: 'switch one fault off, or all',
    status: 204,
    command: 'fault clear [faultId]',
    example: 'fault-1',
    print: 'Switched off',
    run: ({ faults }, { id }) => faults.clear(id),
  }),
]);
