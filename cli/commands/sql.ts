import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { refuseLeftWal } from '../../lib/files/damaged-database.ts';
import { CliError, EXIT } from '../errors.ts';
import { type Run, seconds, verb } from '../verb.ts';

export function command(): Command {
  return verb(
    'sql [statement]',
    'Runs a read-only query on reports.duckdb, with the macros of the reports. `-` reads the statement from stdin. Without a ' +
      'statement, opens the DuckDB shell, if `duckdb` is on PATH.',
    'billsync sql "select tenant, currency_code, sum(billing_cost) from tenant_shipments group by all"',
  )
    .option('--timeout <seconds>', 'stop after this time', seconds, 60)
    .ndjson()
    .run(async ({ settings, output, flags }: Run<{ readonly timeout: number }>, statement?: string) => {
      const { requirePublished } = await import('../published.ts');
      const databasePath = await requirePublished(settings);
      if (statement === undefined) {
        process.exitCode = await openShell(databasePath);
        return;
      }
      const sql = statement === '-' ? await text(process.stdin) : statement;
      const timeLimitMs = flags.timeout * 1000;
      const { runSql } = await import('../../reports/run-sql.ts');
      const { columns, rows } = await runSql({ databasePath, sql, timeLimitMs });
      output.rows(
        rows,
        columns.map(({ name, isNumber }) => ({
          title: name,
          value: (row: Readonly<Record<string, unknown>>) => cellOf(row[name]),
          align: isNumber ? ('right' as const) : ('left' as const),
        })),
        { empty: 'No row.' },
      );
    });
}

function cellOf(value: unknown): string | number | null {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  return JSON.stringify(value);
}

async function openShell(databasePath: string): Promise<number> {
  const { stdout } = await promisify(execFile)('duckdb', ['--version']).catch((error: unknown) => {
    throw new CliError(EXIT.usage, 'there is no `duckdb` on PATH, so no shell can be opened', {
      hint: 'use billsync sql "select …", or install the DuckDB command line, 1.5 or newer',
      cause: error,
    });
  });
  await refuseLeftWal(databasePath);
  const folder = await mkdtemp(join(tmpdir(), 'billsync-sql-'));
  try {
    const init = join(folder, 'macros.sql');
    const { shellStatementsFor } = await import('../../warehouse/lake/lake-source.ts');
    const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? '';
    const attaching = await shellStatementsFor(databasePath, async () => version);
    const macros = await readFile(new URL('../../reports/session/macros.sql', import.meta.url), 'utf8');
    // The file may contain the catalogue's password, so it is private. Creating a secret returns a row.
    const lines =
      attaching.length === 0 ? [] : ['.output /dev/null', ...attaching.map((each) => `${each};`), '.output'];
    await writeFile(
      init,
      [...lines, "set TimeZone = 'UTC'; set Calendar = 'gregorian';", macros].join('\n'),
      { mode: 0o600 },
    );
    const child = spawn('duckdb', ['-readonly', '-cmd', `.read "${init}"`, databasePath], {
      stdio: 'inherit',
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? EXIT.checkFailed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
