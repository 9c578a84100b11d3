import { messageOf } from '../lib/system-errors.ts';
import { CliError, EXIT, printError } from './errors.ts';
import { runVerb } from './run-verb.ts';

const LIBRARIES_END_WITHIN_MS = 2_000;

// Everything billsync writes is private to its user: files 0600, folders 0700 (docs/threat-model.md).
process.umask(0o077);
// A closed pipe (`billsync report | head`) is not an error.
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

process.exitCode = await runVerb(process.argv.slice(2));
endSoon();

/** Libraries keep handles open (Temporal's native runtime does). */
function endSoon(): void {
  process.stdout.write('', () => setTimeout(() => process.exit(), LIBRARIES_END_WITHIN_MS).unref());
}
