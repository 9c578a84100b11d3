/** Commands for faults: switch one on by name, show its count, switch it off. */
import type { Command } from 'commander';
import type { FaultDefinition } from '../faults/fault-catalogue.ts';
import type { FaultRule } from '../model.ts';
import { group } from './invoices.ts';
import { ask, conclude, table, type VerbOptions, verb } from './verb.ts';
import { collect, decimalNumber, given, pairs, wholeNumber } from './words.ts';

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
  const list = verb('list', { description: 'list the faults that are on', example: 'fault list' }).action(
    (options: VerbOptions) =>
      ask(options, { method: 'GET', path: '/faults' }, (answer) => ruleTable(answer as readonly FaultRule[])),
  );
  const names = verb('names', {
    description: 'list every fault and every kind of malformed CSV',
    example: 'fault names',
  }).action((options: VerbOptions) =>
    ask(options, { method: 'GET', path: '/fault-catalogue' }, (answer) =>
      catalogueTable(answer as Catalogue),
    ),
  );
  const clear = verb('clear [faultId]', {
    description: 'switch one fault off, or all',
    example: 'fault clear fault-1',
    writes: true,
  }).action((faultId: string | undefined, options: VerbOptions) => {
    const path = faultId === undefined ? '/faults' : `/faults/${encodeURIComponent(faultId)}`;
    return ask(options, { method: 'DELETE', path }, () => [
      faultId === undefined ? 'All faults are off' : `${faultId} is off`,
    ]);
  });
  return group('fault', 'faults by name', [list, names, addCommand(), clear]);
}

function addCommand(): Command {
  return verb('add <name>', {
    description: 'switch a fault on',
    example: 'fault add malformed-csv --tenant 000417 --count 1 --set kind=bare-quote',
    writes: true,
  })
    .option('--rate <share>', 'share of the moments at which it strikes, 0 to 1 (1)', decimalNumber)
    .option('--count <number>', 'how many times at most', wholeNumber)
    .option('--after <number>', 'how many matching moments pass first', wholeNumber)
    .option('--for <seconds>', 'how long it stays on', decimalNumber)
    .option('--seed <number>', 'what its draws follow from', wholeNumber)
    .option('--invoice <invoiceId>', 'only this invoice')
    .option('--tenant <tenant>', 'only this tenant')
    .option('--endpoint <place>', 'only here; may be repeated', collect)
    .option('--event, --event-type <type>', 'only this event type')
    .option('--webhook <registrationId>', 'only this webhook')
    .option('--set <setting=value>', 'a setting of the fault; may be repeated', collect)
    .action((name: string, options: AddOptions) =>
      conclude(options, async () => {
        const target = given({
          invoiceId: options.invoice,
          tenant: options.tenant,
          endpoint: options.endpoint,
          eventType: options.eventType,
          registrationId: options.webhook,
        });
        const { rate, count, after, seed } = options;
        const forMs = options.for === undefined ? undefined : options.for * 1_000;
        const params = options.set === undefined ? undefined : pairs(options.set);
        const body = { name, target, ...given({ rate, count, after, seed, forMs, params }) };
        await ask(options, { method: 'POST', path: '/faults', body }, (answer) =>
          ruleTable([answer as FaultRule]),
        );
      }),
    );
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
      Object.entries(one.target)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    ]),
  );
}

function catalogueTable({ faults, malformations }: Catalogue): string[] {
  return [
    ...table(
      ['FAULT', 'WHERE', 'SETTINGS', 'WHAT'],
      faults.map((one) => [one.name, one.places.join(','), settingsOf(one), one.description]),
    ),
    '',
    ...table(
      ['MALFORMED CSV', 'WHAT'],
      malformations.map(({ kind, description }) => [kind, description]),
    ),
  ];
}

function settingsOf({ params }: FaultDefinition): string {
  return Object.entries(params)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}
