import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { addPathToError } from '../../lib/system-errors.ts';
import { createUserFile, folderStore, userStore } from '../../lib/user-store.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted } from '../terminal/output.ts';
import { type Column, printable } from '../terminal/table.ts';
import { group, type Run, verb } from '../verb.ts';

export function command(): Command {
  return group(
    'user-files',
    'Manages files that people make: rules, claim windows, tables for reports, claims, statements.',
    [listCommand(), showCommand(), putCommand(), removeCommand(), exportCommand(), importCommand()],
  );
}

function listCommand(): Command {
  return verb('list', 'Lists the files and their sizes.', 'billsync user-files list')
    .ndjson()
    .run(async ({ settings, output }: Run) => {
      const store = await userStore(settings.dataDir);
      const { versionOf } = await import('../../finance/given-files/given-files.ts');
      const rows: Row[] = [];
      for (const path of await store.list('')) {
        const bytes = await store.read(path);
        rows.push({ path, size_bytes: bytes?.length ?? 0, version: versionOf(bytes) });
      }
      output.rows(rows, COLUMNS, { empty: 'There are no files yet.' });
    });
}

interface Row {
  readonly path: string;
  readonly size_bytes: number;
  readonly version: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'file', value: ({ path }) => printable(path) },
  { title: 'bytes', value: ({ size_bytes }) => size_bytes, align: 'right' },
  { title: 'version', value: ({ version }) => version },
];

function showCommand(): Command {
  return verb(
    'show <name>',
    'Prints a file, and its version to stderr.',
    'billsync user-files show cost-rules.yaml > cost-rules.yaml',
  ).run(async ({ settings, output }: Run, name: string) => {
    const bytes = await (await userStore(settings.dataDir)).read(name);
    if (bytes === null) throw noSuchFile(name);
    const { versionOf } = await import('../../finance/given-files/given-files.ts');
    output.note(`Version ${versionOf(bytes)}.`);
    process.stdout.write(bytes);
  });
}

interface DryRun {
  readonly dryRun?: boolean;
}

interface Put extends DryRun {
  readonly replaces?: string;
}

function putCommand(): Command {
  return verb(
    'put <name> <file>',
    'Checks a file of rules, of heads, or a table for reports, and stores it. A file that it replaces is kept, and is named by ' +
      'its version, so that no change by another person is lost.',
    'billsync user-files put cost-rules.yaml ./cost-rules.yaml --replaces 3fa92c1b77e0\n' +
      'billsync user-files put report-files/rates.csv ./rates-2026.csv',
  )
    .option('--replaces <version>', 'version of the stored file, as `list` and `show` print it')
    .option('--dry-run', 'check the file only')
    .audited()
    .run(async ({ settings, output, flags }: Run<Put>, name: string, path: string) => {
      const [{ NO_VERSION, storeGivenFile, versionOf }, { publishedPath }] = await Promise.all([
        import('../../finance/given-files/given-files.ts'),
        import('../published.ts'),
      ]);
      const file = await givenFile(name);
      const bytes = await readFile(path).catch(addPathToError(path));
      for (const sentence of await file.check({ path, bytes }, publishedPath(settings)))
        output.note(sentence);
      const store = await userStore(settings.dataDir);
      const stored = await store.read(name);
      if (stored?.equals(bytes) === true) return output.note(`${store.place(name)} is the same already.`);
      const { replaces = NO_VERSION } = flags;
      if (versionOf(stored) !== replaces) for (const line of differences(stored, bytes)) output.note(line);
      else if (flags.dryRun === true) return output.note(`Would store ${name}: ${bytes.length} bytes.`);
      await storeGivenFile(store, name, bytes, { replaces, now: new Date() });
      output.note(`Stored ${store.place(name)}: ${bytes.length} bytes.`);
    });
}

function removeCommand(): Command {
  return verb(
    'remove <name>',
    'Removes a file of rules or a table for reports.',
    'billsync user-files remove report-files/rates.csv',
  )
    .option('--dry-run', 'show what would be removed')
    .audited()
    .run(async ({ settings, output, flags }: Run<DryRun>, name: string) => {
      await givenFile(name);
      const { storeGivenFile, versionOf } = await import('../../finance/given-files/given-files.ts');
      const store = await userStore(settings.dataDir);
      const stored = await store.read(name);
      if (stored === null) throw noSuchFile(name);
      if (flags.dryRun === true) return output.note(`Would remove ${store.place(name)}.`);
      await storeGivenFile(store, name, null, { replaces: versionOf(stored), now: new Date() });
      output.note(`Removed ${store.place(name)}.`);
    });
}

function exportCommand(): Command {
  return verb(
    'export <folder>',
    'Copies all files into a folder: a backup, or to move them to another warehouse.',
    'billsync user-files export ./user-files-2026-03-31',
  )
    .option('--dry-run', 'show how many files would be copied')
    .run(async ({ settings, output, flags }: Run<DryRun>, folder: string) => {
      const store = await userStore(settings.dataDir);
      const paths = await store.list('');
      if (flags.dryRun === true) return output.note(`Would copy ${counted(paths.length, 'file')}.`);
      for (const path of paths) {
        const to = join(folder, path);
        await mkdir(dirname(to), { recursive: true }).catch(addPathToError(dirname(to)));
        await writeFile(to, (await store.read(path)) ?? '').catch(addPathToError(to));
      }
      output.note(`Copied ${counted(paths.length, 'file')} to ${folder}.`);
    });
}

function importCommand(): Command {
  return verb(
    'import <folder>',
    'Stores the files of an exported folder, or of `user` in a data folder, that are not there yet. Files that are there stay as ' +
      'they are; exit code 1 when one differs.',
    'billsync user-files import /srv/backup/billsync/user',
  )
    .option('--dry-run', 'show what would be stored')
    .run(async ({ settings, output, flags }: Run<DryRun>, folder: string) => {
      const store = await userStore(settings.dataDir);
      const from = folderStore(folder);
      const paths = await from.list('');
      if (paths.length === 0) {
        throw new CliError(EXIT.nothingMatched, 'the folder has no files', { subject: folder });
      }
      const differing: string[] = [];
      let added = 0;
      for (const path of paths) {
        const bytes = (await from.read(path)) ?? Buffer.alloc(0);
        const present = await store.read(path);
        if (present === null) added += 1;
        else if (!present.equals(bytes)) differing.push(path);
        if (present === null && flags.dryRun !== true) await createUserFile(store, path, bytes);
      }
      output.note(`${flags.dryRun === true ? 'Would store' : 'Stored'} ${counted(added, 'file')}.`);
      if (differing.length === 0) return;
      throw new CliError(EXIT.checkFailed, `files that differ stay as they are: ${differing.join(', ')}`, {
        hint: 'compare both versions; `billsync user-files put` replaces files of rules and tables',
      });
    });
}

async function givenFile(name: string) {
  const { GIVEN_FILES } = await import('../../finance/given-files/given-files.ts');
  const found = GIVEN_FILES.find(({ path }) => path === name);
  if (found !== undefined) return found;
  throw new CliError(EXIT.usage, 'there is no such file of rules or table', {
    subject: name,
    hint: `a file is one of ${GIVEN_FILES.map(({ path }) => path).join(', ')}`,
  });
}

const MAX_LINES = 20;

/** Returns the lines that only the stored file has, and those that only the given one has. */
function differences(stored: Buffer | null, given: Buffer): readonly string[] {
  const [before, after] = [stored ?? '', given].map((bytes) => String(bytes).split(/\r?\n/));
  const only = (lines: readonly string[] = [], others: readonly string[] = [], sign: string) =>
    lines.filter((line) => !others.includes(line)).map((line) => `${sign} ${printable(line)}`);
  const found = [...only(before, after, '-'), ...only(after, before, '+')];
  const rest = found.length > MAX_LINES ? [`and ${found.length - MAX_LINES} more lines`] : [];
  return [...found.slice(0, MAX_LINES), ...rest];
}

function noSuchFile(name: string): CliError {
  return new CliError(EXIT.nothingMatched, 'there is no such file', {
    subject: name,
    hint: '`billsync user-files list` shows all files',
  });
}
