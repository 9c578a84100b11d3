import { sentenceOf } from '../lib/errors.ts';
import { isTemporalError } from '../lib/temporal/errors.ts';
import { temporalExecutable } from '../lib/temporal/server-executable.ts';

if (process.env.TEMPORAL_ADDRESS && !process.argv.includes('--always')) {
  process.stderr.write(`temporal: using the server at ${process.env.TEMPORAL_ADDRESS}\n`);
} else {
  try {
    await temporalExecutable({ onProgress: (line) => process.stderr.write(`${line}\n`) });
  } catch (error) {
    if (!isTemporalError(error, 'temporal-server-missing')) throw error;
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = 1;
  }
}
