/**
 * Set-up's step for what only the tests need: a browser to look at the pages with, the S3 the archive talks to, the
 * extensions of DuckDB for a warehouse on a lake, DuckDB, Harlequin and Evidence as analysts have them,
 * the tool that checks rules of Prometheus, and our own program, built.
 */

import { installS3Server } from '../test/archive/s3-server.ts';
import { findChromium } from '../test/support/tools/chromium.ts';
import { installDuckDbExtensions } from '../test/support/tools/duckdb-extensions.ts';
import { installDuckDbTools } from '../test/support/tools/duckdb-tools.ts';
import { installEvidence } from '../test/support/tools/evidence-source.ts';
import { findPromtool } from '../test/support/tools/promtool.ts';
import { builtProgram } from './built-program.ts';

const tools = [
  // Both may ask apt-get, which refuses a second one beside it.
  [
    { name: 'chromium', install: () => findChromium() },
    { name: 'promtool', install: () => findPromtool() },
  ],
  [{ name: 's3', install: () => installS3Server() }],
  [{ name: 'duckdb extensions', install: () => installDuckDbExtensions() }],
  [{ name: 'duckdb for python, harlequin', install: () => installDuckDbTools() }],
  [{ name: 'evidence', install: () => installEvidence() }],
  [{ name: 'the program that tests start', install: () => builtProgram() }],
];

// Each of them waits for a registry, or works with one core.
await Promise.all(
  tools.map(async (oneAfterTheOther) => {
    for (const tool of oneAfterTheOther) await tryToInstall(tool);
  }),
);

async function tryToInstall({ name, install }: (typeof tools)[number][number]): Promise<void> {
  try {
    process.stderr.write(`${name}: looking for it, or installing it\n`);
    process.stderr.write(`${name}: ${await install()}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
