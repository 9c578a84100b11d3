import type { Command } from 'commander';
import type { FaultDefinition } from '../faults/fault-catalogue.ts';
import { collect, decimalNumber, given, pairs, path, wholeNumber } from './arguments.ts';
import { group, table, verb } from './verb.ts';

interface Catalogue {
  readonly faults: readonly (FaultDefinition & { readonly name: string })[];
  readonly malformations: readonly { readonly kind: string; readonly description: string }[];
}

const RULE = ['faultId', 'name', 'rate', 'struck', 'count', 'target'];

export function faultCommand(): Command {
  const list = verb('list', {
    description: 'list the active faults',
    example: 'fault list',
    call: () => ({ method: 'GET', path: '/faults' }),
    print: RULE,
  });
  const names = verb('names', {
    description: 'list every fault and every kind of malformed CSV',
    example: 'fault names',
    call: () => ({ method: 'GET', path: '/fault-catalogue' }),
    print: (answer) => catalogueTables(answer as Catalogue),
  });
  const clear = verb('clear [faultId]', {
    description: 'switch one fault off, or all',
    example: 'fault clear fault-1',
    writes: true,
    call: (id) => ({ method: 'DELETE', path: id === '' ? '/faults' : path`/faults/${id}` }),
    print: () => ['Switched off'],
  });
  return group('fault', 'faults by name', [list, names, addCommand(), clear]);
}

function addCommand(): Command {
  return verb('add <name>', {
    description: 'switch a fault on',
    example: 'fault add malformed-csv --tenant 000417 --count 1 --set kind=bare-quote',
    writes: true,
    options: (command) =>
      command
        .option('--rate <share>', 'share of the moments at which it strikes, 0 to 1 (1)', decimalNumber)
        .option('--count <number>', 'maximum number of strikes', wholeNumber)
        .option('--after <number>', 'matching moments that pass first', wholeNumber)
        .option('--for <seconds>', 'duration', decimalNumber)
        .option('--seed <number>', 'seed of its draws', wholeNumber)
        .option('--invoice <invoiceId>', 'only this invoice')
        .option('--tenant <tenant>', 'only this tenant')
        .option('--endpoint <place>', 'only here; repeatable', collect)
        .option('--event, --event-type <type>', 'only this event type')
        .option('--webhook <registrationId>', 'only this webhook')
        .option('--set <setting=value>', 'a setting of the fault; repeatable', collect),
    call: (name, options) => {
      const { rate, count, after, seed, invoice, tenant, endpoint, eventType, webhook } = options;
      const target = given({ invoiceId: invoice, tenant, endpoint, eventType, registrationId: webhook });
      const forMs = options.for === undefined ? undefined : Number(options.for) * 1_000;
      const params = options.set === undefined ? undefined : pairs(options.set);
      const body = { name, target, ...given({ rate, count, after, seed, forMs, params }) };
      return { method: 'POST', path: '/faults', body };
    },
    print: RULE,
  });
}

function catalogueTables({ faults, malformations }: Catalogue): string[] {
  return [
    ...table(faults, ['name', 'places', 'params', 'description']),
    '',
    ...table(malformations, ['kind', 'description']),
  ];
}
