/** Finds the verb, loads that verb alone, runs it, and tells on stderr what went wrong. */

import { Command, CommanderError } from 'commander';
import { didYouMean } from '../config/did-you-mean.ts';
import { version } from '../ops/version.ts';
import type { AuditedRun } from './audited-commands.ts';
import { CliError, EXIT, printError } from './errors.ts';
import { endOnEarlySignal } from './roles/early-signal.ts';
import { VERBS, type Verb } from './verbs.ts';

/** Verbs that run until they are told to stop. */
const ROLES = new Set(['up', 'webhook', 'worker', 'dashboard', 'temporal']);

/** @param args without Node and the program; @returns the exit code, once all was said */
export async function runVerb(args: readonly string[]): Promise<number> {
  let audited: AuditedRun | null = null;
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
    const { command, program } = prepare(await findVerb(name).load());
    // The overview is there without what commands need.
    const { auditActions } = await import('./audited-commands.ts');
    audited = auditActions(program);
    await command.parseAsync([...rest], { from: 'user' });
    await audited.end(null);
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.done;
  } catch (error) {
    // Commander throws for `--help` too, once it has been printed.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    await audited?.end(error).catch(() => undefined);
    return printError(error, { verbose: args.includes('--verbose') });
  }
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
function prepare(command: Command): { readonly command: Command; readonly program: Command } {
  const program = new Command('billsync').addCommand(command);
  const visit = (each: Command): void => {
    each
      .exitOverride()
      .showSuggestionAfterError()
      .configureOutput({ outputError: () => undefined });
    each.commands.forEach(visit);
  };
  visit(command);
  return { command, program };
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
  lines.push('', 'Every verb explains itself with an example: billsync VERB --help', '');
  return lines.join('\n');
}
