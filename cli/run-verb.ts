/** Finds the verb, loads its file, runs it, and prints errors to stderr. */

import { Command, CommanderError } from 'commander';
import { didYouMean } from '../lib/config/did-you-mean.ts';
import { version } from '../lib/runtime.ts';
import type { AuditedRun } from './audited-commands.ts';
import { CliError, EXIT, printError } from './errors.ts';
import { endOnEarlySignal } from './terminal/interaction.ts';
import type { SplitArguments } from './verb.ts';
import { VERBS, type Verb } from './verbs.ts';

/** Verbs that run until they are stopped. */
const ROLES = new Set(['up', 'webhook', 'worker', 'dashboard', 'temporal']);

/** @param args without Node and the program @returns the exit code */
export async function runVerb(given: readonly string[]): Promise<number> {
  let audited: AuditedRun | null = null;
  try {
    const { flags, rest: args } = await leadingFlags(given);
    const [first] = args;
    if (first === undefined) {
      process.stderr.write(overview());
      return EXIT.usage;
    }
    if (first === '--help' || first === '-h' || (first === 'help' && args.length === 1)) {
      process.stdout.write(overview());
      return EXIT.done;
    }
    if (first === '--version' || first === '-V') {
      process.stdout.write(`${version()}\n`);
      return EXIT.done;
    }
    const [name, rest] = first === 'help' ? [args[1] ?? '', ['--help']] : [first, args.slice(1)];
    if (ROLES.has(name)) endOnEarlySignal();
    const { command, program } = prepare(await findVerb(name).load());
    const { auditActions } = await import('./audited-commands.ts');
    audited = auditActions(program);
    await command.parseAsync(await behindVerb(command, [...flags, ...rest]), { from: 'user' });
    await audited.end(null);
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.done;
  } catch (error) {
    // Commander throws for `--help` too, once it has been printed.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    await audited?.end(error).catch(() => undefined);
    return printError(error, { verbose: given.includes('--verbose') });
  }
}

/** Loads the parser only when an option is first, so that `--help` and the first signal of a role do not wait for it. */
async function leadingFlags(args: readonly string[]): Promise<SplitArguments> {
  if (args[0]?.startsWith('--') !== true) return { flags: [], rest: args };
  const { leadingSharedFlags } = await import('./verb.ts');
  return leadingSharedFlags(args);
}

/** Moves shared options between two words of a verb behind the last one, which alone declares them. */
async function behindVerb(command: Command, args: readonly string[]): Promise<string[]> {
  const { leadingSharedFlags } = await import('./verb.ts');
  const { flags, rest } = leadingSharedFlags(args);
  const below = command.commands.find((each) => each.name() === rest[0]);
  if (below === undefined) return command.commands.length > 0 ? [...rest, ...flags] : [...flags, ...rest];
  return [below.name(), ...(await behindVerb(below, [...flags, ...rest.slice(1)]))];
}

function findVerb(name: string): Verb {
  const found = VERBS.find((verb) => verb.name === name);
  if (found !== undefined) return found;
  if (name.startsWith('-')) {
    throw new CliError(EXIT.usage, `unknown option '${name}'`, {
      hint: 'put the verb first: billsync VERB [options]',
    });
  }
  const near = didYouMean(
    name,
    VERBS.map((verb) => verb.name),
  );
  throw new CliError(EXIT.usage, `unknown verb '${name}'`, {
    hint: near === null ? '`billsync --help` lists all verbs' : `did you mean \`billsync ${near}\`?`,
  });
}

/** Makes the parser throw errors of usage instead of ending the process. */
function prepare(command: Command): { readonly command: Command; readonly program: Command } {
  const program = new Command('billsync').addCommand(command);
  const visit = (each: Command): void => {
    each
      .exitOverride((error) => {
        throw withLongerOption(error, each);
      })
      .showSuggestionAfterError()
      .configureOutput({ outputError: () => undefined });
    each.commands.forEach(visit);
  };
  visit(command);
  return { command, program };
}

/** Suggests options that begin with the unknown one; the parser compares only letters. */
function withLongerOption(error: CommanderError, command: Command): CommanderError {
  const [, unknown] = /unknown option '(--[\w-]+)'/.exec(error.message) ?? [];
  if (error.code !== 'commander.unknownOption' || unknown === undefined) return error;
  const meant = command.options.flatMap(({ long }) => (long?.startsWith(unknown) ? [long] : []));
  if (meant.length === 0) return error;
  const { exitCode, code } = error;
  return new CommanderError(
    exitCode,
    code,
    `error: unknown option '${unknown}'\n(Did you mean ${meant.slice(0, 3).join(' or ')}?)`,
  );
}

function overview(): string {
  const lines = [
    'billsync collects shipping invoices, verifies every file, and reports what shipments cost.',
    '',
    'Usage: billsync VERB [options]',
  ];
  const width = Math.max(...VERBS.map(({ name }) => name.length));
  let section = '';
  for (const verb of VERBS) {
    if (verb.section !== section) lines.push('', verb.section);
    section = verb.section;
    lines.push(`  ${verb.name.padEnd(width)}  ${verb.summary}`);
  }
  lines.push('', 'Help and an example for each verb: billsync VERB --help', '');
  return lines.join('\n');
}
