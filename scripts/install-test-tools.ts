/** Arguments: `fast`, `smoke`, `slow`, for these tests only; none: everything. */

import { installS3Server } from '../test/archive/s3-server.ts';
import { findChromium } from '../test/support/tools/chromium.ts';
import { installDuckDbExtensions } from '../test/support/tools/duckdb-extensions.ts';
import { findPromtool, installDuckDbTools } from '../test/support/tools/installed-tools.ts';
import { installPgBouncer } from '../test/support/tools/pgbouncer.ts';
import { builtProgram } from './built-program.ts';

const TOOLS: readonly { readonly name: string; readonly for: string; install(): Promise<string> }[] = [
  { name: 'the program that tests start', for: 'fast', install: builtProgram },
  { name: 'chromium', for: 'smoke', install: findChromium },
  { name: 's3', for: 'smoke', install: installS3Server },
  { name: 'extensions of DuckDB', for: 'smoke', install: installDuckDbExtensions },
  { name: 'promtool', for: 'slow', install: findPromtool },
  { name: 'PgBouncer', for: 'slow', install: installPgBouncer },
  { name: 'DuckDB for Python', for: 'slow', install: installDuckDbTools },
];

const groups = process.argv.slice(2);
await Promise.all(
  TOOLS.filter((tool) => groups.length === 0 || groups.includes(tool.for)).map(async ({ name, install }) => {
    try {
      process.stderr.write(`${name}: ${await install()}\n`);
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  }),
);
