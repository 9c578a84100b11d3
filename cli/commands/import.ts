/** `billsync import`: loads a CSV that a person exported by hand, with the same proof and the same load. */

import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { uuidOrNull } from '../../lib/wire/text.ts';
import { CliError, EXIT } from '../errors.ts';
import { printable } from '../terminal/terminal-text.ts';
import { contextOf, verb, withJson } from '../verb.ts';
import { importAll, rehearse } from './import/import-all.ts';
import { printImported } from './import/print-imported.ts';

interface ImportFlags {
  readonly invoice?: string;
  readonly dryRun?: boolean;
  readonly acceptSpreadsheet?: boolean;
}

export function importCommand(): Command {
  const command = verb(
    'import <file...>',
    'Loads invoice CSVs that a person exported by hand. Needs neither Temporal nor a billing service.',
    'billsync import INV-000042.csv --dry-run',
  )
    .option('--invoice <id>', 'the invoice, else the one that the first row names')
    .option('--accept-spreadsheet', 'load a file although a spreadsheet seems to have changed its cells')
    .option('--dry-run', 'check the file and load nothing');
  return withJson(command, { ndjson: true }).action(
    async (files: readonly string[], flags: ImportFlags, command: Command) => {
      const { settings, output } = contextOf(command);
      if (flags.invoice !== undefined && files.length > 1) {
        throw new CliError(EXIT.usage, '--invoice names the invoice of one file', {
          hint: 'import them one by one',
        });
      }
      if (flags.invoice !== undefined && uuidOrNull(flags.invoice) === null) {
        throw new CliError(EXIT.usage, `--invoice ${printable(flags.invoice)} is no invoice id`, {
          hint: 'it is the UUID that the service gave the invoice, not its number',
        });
      }
      const paths = files.map((file) => resolve(file));
      for (const path of paths) await refuseFolder(path);
      const requests = paths.map((path) => ({
        path,
        invoiceId: flags.invoice ?? null,
        dryRun: flags.dryRun === true,
        acceptsSpreadsheet: flags.acceptSpreadsheet === true,
      }));
      const imported = await (flags.dryRun === true ? rehearse : importAll)(settings, requests, output);
      printImported(output, paths, imported);
    },
  );
}

async function refuseFolder(path: string): Promise<void> {
  const found = await stat(path);
  if (found.isFile()) return;
  const isFolder = found.isDirectory();
  throw new CliError(EXIT.usage, `${path} is ${isFolder ? 'a folder' : 'not a regular file'}`, {
    hint: isFolder
      ? 'name the CSV files in it, e.g. FOLDER/*.csv'
      : 'save what it holds as a file and name that',
  });
}
