import { Command, CommanderError } from 'commander';
import { version } from '../lib/runtime.ts';
import { EXIT, printError } from './errors.ts';
import { endOnEarlySignal } from './terminal/interaction.ts';
import { VERBS } from './verbs.ts';

const ROLES = new Set(['up', 'webhook', 'worker', 'dashboard', 'temporal']);

export async function runVerb(args: readonly string[]): Promise<number> {
  try {
    // Commander's option of the program would hide a command's option of the same name.
    if (args[0] === '--version' || args[0] === '-V') {
      process.stdout.write(`${version()}\n`);
      return EXIT.done;
    }
    if (ROLES.has(args.find((arg) => !arg.startsWith('-')) ?? '')) endOnEarlySignal();
    const program = await programFor(args);
    await program.parseAsync(args, { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.done;
  } catch (error) {
    // The parser throws for `--help` too, once it has been printed.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    return printError(error, { verbose: args.includes('--verbose') });
  }
}

async function programFor(args: readonly string[]): Promise<Command> {
  const { sharedOptions } = await import('./verb.ts');
  const program = new Command('billsync')
    .description('Collects shipping invoices, verifies every file, and reports what shipments cost.')
    .usage('COMMAND [options]')
    .addHelpCommand(
      new Command('help').argument('[command]').description('explain a command').helpGroup('Start here:'),
    )
    .addHelpText('after', '\nHelp and an example of each command: billsync COMMAND --help');
  for (const option of sharedOptions()) program.addOption(option);
  throwErrors(program);
  const [first, second] = program.parseOptions([...args]).operands;
  const named = first === 'help' ? second : first;
  for (const { name, summary, section, load } of VERBS)
    program.addCommand(
      name === named ? await load() : new Command(name).description(summary).helpGroup(`${section}:`),
    );
  throwErrors(program);
  return program;
}

function throwErrors(command: Command): void {
  command
    .exitOverride((error) => {
      throw withSuggestion(error, command);
    })
    .configureHelp({ showGlobalOptions: command.commands.length === 0 })
    .configureOutput({ outputError: () => undefined });
  command.commands.forEach(throwErrors);
}

/** The parser compares only the letters of names. */
function withSuggestion(error: CommanderError, command: Command): CommanderError {
  const [message = '', kind, unknown = ''] =
    /^error: unknown (option|command) '(-*[\w-]{3,})'$/.exec(error.message) ?? [];
  const options = command.options.flatMap(({ long }) => (long?.startsWith(unknown) ? [long] : []));
  const word = unknown.toLowerCase().replace(/s$/, '');
  const commands = command.commands.filter((each) => each.description().toLowerCase().includes(word));
  const meant = kind === 'option' ? options : kind === 'command' ? commands.map((each) => each.name()) : [];
  if (meant.length === 0) return error;
  const text = `${message}\n(Did you mean ${meant.slice(0, 3).join(' or ')}?)`;
  return new CommanderError(error.exitCode, error.code, text);
}
