import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { copyArchive } from '../../archive/copy-archive.ts';
import { openArchive } from '../../archive/open-archive.ts';
import { readArchive } from '../../lib/config/setting-values.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { makeFolder } from '../../lib/files/durable-files.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { group, type Run, verb } from '../verb.ts';
import { withArchive } from '../with-temporal.ts';

export function command(): Command {
  return group('archive', 'Copies the archive.', [copyCommand()]);
}

function copyCommand(): Command {
  return verb(
    'copy <to>',
    'Copies the archive to a folder or to s3://bucket/prefix, in the layout of the target, and compares every hash. The archive itself ' +
      'is not changed. A copy that ended early is continued. Stop workers and endpoints first. Exit 1 if a record could not be copied.',
    'billsync archive copy s3://billsync/archive',
  )
    .option('--dry-run', 'show what would be copied')
    .json()
    .audited()
    .run(async ({ settings, output, flags }: Run<{ readonly dryRun?: boolean }>, to: string) => {
      const target = readArchive(to, process.cwd());
      const placeOf = (archive: typeof target) => (archive.kind === 's3' ? archive.url : archive.path);
      const isDryRun = flags.dryRun === true;
      if (placeOf(target) === placeOf(settings.archive))
        throw new CliError(EXIT.usage, 'this is the archive itself', { subject: to });
      const temporaryFolder = `${dataFolder(settings.dataDir).temporary}/archive-copy`;
      await makeFolder(temporaryFolder);
      const progress = output.progress('Copying records');
      const made = await withArchive(settings, async (from) => {
        // The warehouse of this machine says nothing about the target, and the target's cache is not kept.
        const warehouse = { kind: 'duckdb', path: `${temporaryFolder}/none` } as const;
        const copy = await openArchive({ archive: target, dataDir: temporaryFolder, warehouse });
        return copyArchive(from, copy, {
          ...{ temporaryFolder, cacheFolder: dataFolder(temporaryFolder).archiveCache, isDryRun },
          onProgress: (done) => progress.update(done, null),
        }).finally(() => copy.close());
      }).finally(async () => {
        progress.end();
        await rm(temporaryFolder, { recursive: true, force: true });
      });
      const { problems, ...kinds } = made;
      if (problems.length > 0) process.exitCode = EXIT.checkFailed;
      if (output.form === 'table')
        output.rows(problems, [
          { title: 'not copied', value: ({ where }) => printable(where) },
          { title: 'why', value: ({ why }) => printable(why), canShrink: true },
        ]);
      output.thing({ to: placeOf(target), is_dry_run: isDryRun, ...kinds, problems }, () => {
        const parts = Object.entries(kinds).map(
          ([kind, { copied, present }]) =>
            `${counted(copied, kind.slice(0, -1))} copied (${present} there before)`,
        );
        return `${isDryRun ? 'Would be copied: ' : ''}${parts.join(', ')}`;
      });
    });
}
