import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { asDamage } from '../../lib/files/damaged-database.ts';
import { statementIn } from '../../lib/sql-file.ts';
import { CliError, EXIT } from '../errors.ts';
import { type Run, verb } from '../verb.ts';

interface ExportFlags {
  readonly output: string;
  readonly format: (typeof FORMATS)[number];
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

const STATEMENTS = new URL('../sql/export.sql', import.meta.url);
const FORMATS = ['parquet', 'csv', 'csv-exact'] as const;

export function command(): Command {
  return verb(
    'export',
    'Writes all shipments and invoices as files, a folder per month, for tools that cannot open reports.duckdb.',
    'billsync export --output ./for-finance --format parquet',
  )
    .requiredOption('--output <dir>', 'folder for shipments/ and invoices/')
    .addOption(
      new Option('--format <format>', 'format of the files; csv is for spreadsheets, csv-exact for programs')
        .choices(FORMATS)
        .default(FORMATS[0]),
    )
    .option('--dry-run', 'show what would be written')
    .option('--yes', 'replace an existing folder')
    .run(async ({ settings, output, flags }: Run<ExportFlags>) => {
      const { requirePublished } = await import('../published.ts');
      const database = await requirePublished(settings);
      const target = resolve(flags.output);
      await checkTarget(target, flags);
      if (flags.dryRun === true)
        return output.note(`Would write shipments and invoices as ${flags.format} to ${target}.`);
      await exportAll({ database, target, format: flags.format }).catch((error: unknown) => {
        throw asDamage(error, database);
      });
      output.note(
        `Wrote shipments (a folder per month of the ship date) and invoices (per month of the invoice date) as ${flags.format} to ${target}; instants are UTC.`,
      );
    });
}

const PARTS = ['shipments', 'invoices'] as const;
const OF_MONTH = { shipments: 'shipped', invoices: 'dated' } as const;

async function checkTarget(target: string, flags: ExportFlags): Promise<void> {
  const there = PARTS.filter((part) => existsSync(join(target, part)));
  if (there.length === 0 || flags.yes === true) return;
  throw new CliError(EXIT.usage, `the output folder has ${there.join(' and ')} already`, {
    subject: target,
    hint: 'name another folder, or add --yes to replace its files',
  });
}

interface Export {
  readonly database: string;
  readonly target: string;
  readonly format: (typeof FORMATS)[number];
}

/** The export is renamed into place, so that no reader sees half of one. */
async function exportAll({ database, target, format }: Export): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const temporary = await mkdtemp(join(dirname(target), `.${basename(target)}-`));
  try {
    const { openInstance } = await import('../../lib/duckdb-instance.ts');
    const { attachBehind } = await import('../../warehouse/lake/lake-source.ts');
    const { refuseLeftWal } = await import('../../lib/files/damaged-database.ts');
    await refuseLeftWal(database);
    const instance = await openInstance(database, { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    try {
      await attachBehind(database, (statement) => connection.run(statement));
      await connection.run(statementIn(STATEMENTS, 'macros'));
      for (const what of PARTS) {
        const sql = statementIn(STATEMENTS, `${what}-${format === 'parquet' ? format : 'csv'}`);
        const variables = { folder: join(temporary, what), is_exact: format === 'csv-exact' };
        for (const [name, value] of Object.entries(variables)) {
          const variable = await connection.prepare(`set variable ${name} = $value`);
          variable.bind({ value });
          await variable.run();
        }
        await (await connection.prepare(sql)).run();
        await mkdir(join(temporary, what), { recursive: true });
        await nameFiles(join(temporary, what), `${what}-${OF_MONTH[what]}`);
      }
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
    await mkdir(target, { recursive: true });
    for (const what of PARTS) {
      await rm(join(target, what), { recursive: true, force: true });
      await rename(join(temporary, what), join(target, what));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** `month=2026-03/data_0.parquet` becomes `month=2026-03/shipments-shipped-2026-03.parquet`. */
async function nameFiles(folder: string, name: string): Promise<void> {
  for (const month of await readdir(folder)) {
    for (const file of await readdir(join(folder, month))) {
      const [, part = '0', ending = ''] = /^data_(\d+)(\..+)$/.exec(file) ?? [];
      const named = `${name}-${month.replace('month=', '')}${part === '0' ? '' : `-${part}`}${ending}`;
      await rename(join(folder, month, file), join(folder, month, named));
    }
  }
}
