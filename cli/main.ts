/** The entry of `billsync`: finds the verb, loads that verb alone, runs it, and answers with its exit code. */

import { Command, CommanderError } from 'commander';
import { didYouMean } from '../config/did-you-mean.js';
import { messageOf } from '../config/system-error.js';
import { CliError, EXIT, printError } from './errors.js';
import { endOnEarlySignal } from './roles/early-signal.js';
import { VERBS, type Verb } from './verbs.js';
import { version } from './version.js';

const LIBRARIES_END_WITHIN_MS = 2_000;
/** Verbs that run until they are told to stop. */
const ROLES = new Set(['up', 'webhook', 'worker', 'dashboard', 'temporal']);

// Everything billsync writes is private to its user: files 0600, folders 0700 (docs/threat-model.md).
process.umask(0o077);
// A reader that went away (`billsync report | head`) is no failure of ours, and nobody is left to be told.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  process.exit(
    printError(new CliError(EXIT.checkFailed, `The output cannot be written: ${messageOf(error)}`), {
      verbose: false,
    }),
  );
});
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await main(process.argv.slice(2));
endSoon();

async function main(args: readonly string[]): Promise<number> {
  try {
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
    const command = prepare(await findVerb(name).load());
    await command.parseAsync([...rest], { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.done;
  } catch (error) {
    // Commander throws for `--help` too, once it has been printed.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    return printError(error, { verbose: args.includes('--verbose') });
  }
}

/**
 * All is said and done; what a library still holds open (Temporal's native runtime does) must not keep the shell
 * waiting. A slow reader of stdout is waited for.
 */
function endSoon(): void {
  process.stdout.write('', () => setTimeout(() => process.exit(), LIBRARIES_END_WITHIN_MS).unref());
}

function findVerb(name: string): Verb {
  const found = VERBS.find((verb) => verb.name === name);
  if (found !== undefined) return found;
  if (name.startsWith('-')) {
    throw new CliError(EXIT.usage, `unknown option '${name}'`, {
      hint: 'the verb comes first: billsync VERB [options]',
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

/** Errors of usage are thrown to us instead of ending the process, in the whole tree of commands. */
function prepare(command: Command): Command {
  new Command('billsync').addCommand(command);
  const visit = (each: Command): void => {
    each
      .exitOverride()
      .showSuggestionAfterError()
      .configureOutput({ outputError: () => undefined });
    each.commands.forEach(visit);
  };
  visit(command);
  return command;
}

function overview(): string {
  const lines = [
    'billsync: shipping invoices out of a billing service and into a place where people can question them.',
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
  lines.push('', 'Every verb explains itself with an example: billsync VERB --help', '');
  return lines.join('\n');
}
