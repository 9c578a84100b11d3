import type { Command } from 'commander';
import type { FaultDefinition } from '../faults/fault-catalogue.ts';
import type { FaultRule } from '../model.ts';
import { collect, decimalNumber, given, pairs, path, wholeNumber } from './arguments.ts';
import { group, table, type VerbOptions, verb } from './verb.ts';

interface AddOptions extends VerbOptions {
  readonly rate?: number;
  readonly count?: number;
  readonly after?: number;
  readonly seed?: number;
  readonly for?: number;
  readonly invoice?: string;
  readonly tenant?: string;
  readonly endpoint?: readonly string[];
  readonly eventType?: string;
  readonly webhook?: string;
  readonly set?: readonly string[];
}

interface Catalogue {
  readonly faults: readonly (FaultDefinition & { readonly name: string })[];
  readonly malformations: readonly { readonly kind: string; readonly description: string }[];
}

export function faultCommand(): Command {
  const list = verb('list', {
    description: 'list the active faults',
    example: 'fault list',
    call: () => ({ method: 'GET', path: '/faults' }),
    lines: (answer) => ruleTable(answer as readonly FaultRule[]),
  });
  const names = verb('names', {
    description: 'list every fault and every kind of malformed CSV',
    example: 'fault names',
    call: () => ({ method: 'GET', path: '/fault-catalogue' }),
    lines: (answer) => catalogueTables(answer as Catalogue),
  });
  const clear = verb('clear [faultId]', {
    description: 'switch one fault off, or all',
    example: 'fault clear fault-1',
    writes: true,
    call: (id) => ({ method: 'DELETE', path: id === '' ? '/faults' : path`/faults/${id}` }),
    lines: () => ['Switched off'],
  });
  return group('fault', 'faults by name', [list, names, addCommand(), clear]);
}

function addCommand(): Command {
  return verb<AddOptions>('add <name>', {
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
      const forMs = options.for === undefined ? undefined : options.for * 1_000;
      const params = options.set === undefined ? undefined : pairs(options.set);
      const body = { name, target, ...given({ rate, count, after, seed, forMs, params }) };
      return { method: 'POST', path: '/faults', body };
    },
    lines: (answer) => ruleTable([answer as FaultRule]),
  });
}

function ruleTable(rules: readonly FaultRule[]): string[] {
  return table(
    ['FAULT ID', 'NAME', 'RATE', 'STRUCK', 'OF', 'TARGET'],
    rules.map((one) => [
      one.faultId,
      one.name,
      one.rate,
      one.struck,
      one.count ?? 'any',
      settings(one.target),
    ]),
  );
}

function catalogueTables({ faults, malformations }: Catalogue): string[] {
  return [
    ...table(
      ['FAULT', 'PLACES', 'SETTINGS', 'EFFECT'],
      faults.map((one) => [one.name, one.places.join(','), settings(one.params), one.description]),
    ),
    '',
    ...table(
      ['MALFORMED CSV', 'EFFECT'],
      malformations.map(({ kind, description }) => [kind, description]),
    ),
  ];
}

function settings(values: object): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}
