/** Installs the Temporal server for the set-up. */

import { TemporalServerMissingError, temporalExecutable } from '../lib/temporal/server-executable.ts';

if (process.env.TEMPORAL_ADDRESS && !process.argv.includes('--always')) {
  process.stderr.write(`temporal: using the server at ${process.env.TEMPORAL_ADDRESS}\n`);
} else {
  try {
    await temporalExecutable({ onProgress: (line) => process.stderr.write(`${line}\n`) });
  } catch (error) {
    if (!(error instanceof TemporalServerMissingError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
