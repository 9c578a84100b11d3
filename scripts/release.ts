/**
 * `npm run release -- 0.2.0` dates the changelog, sets the version, commits and tags; the workflow `release`
 * publishes it and uses `--check TAG` and `--notes TAG`. An advisory of a published package refuses the release,
 * unless `--accept ID` names it.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compareWithAdvisories } from './advisories.ts';
import { checkTag, datedChangelog, ReleaseRefusedError, releaseNotes } from './release-notes.ts';

const root = join(import.meta.dirname, '..');
const changelogPath = join(root, 'CHANGELOG.md');
const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      check: { type: 'string' },
      notes: { type: 'string' },
      'dry-run': { type: 'boolean' },
      accept: { type: 'string', multiple: true, default: [] },
    },
  });
  const changelog = readFileSync(changelogPath, 'utf8');
  const { version: packageVersion } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  if (values.check !== undefined) {
    checkTag({ tag: values.check, packageVersion, changelog });
    await refuseAdvisories(values.accept);
    return;
  }
  if (values.notes !== undefined) {
    process.stdout.write(`${releaseNotes(changelog, values.notes.replace(/^v/, ''))}\n`);
    return;
  }
  const [version = ''] = positionals;
  const dated = datedChangelog(changelog, version, new Date().toISOString().slice(0, 10));
  if (git('status', '--porcelain') !== '') {
    throw new ReleaseRefusedError(
      'There are changes that are not committed: commit them, or put them aside.',
    );
  }
  await refuseAdvisories(values.accept);
  if (values['dry-run'] === true) {
    process.stdout.write(`Would release ${version} with these notes:\n\n${releaseNotes(dated, version)}\n`);
    return;
  }
  writeFileSync(changelogPath, dated);
  execFileSync('npm', ['version', version, '--no-git-tag-version', '--allow-same-version'], { cwd: root });
  git('commit', '--all', '--message', `release: ${version}`);
  git('tag', '--annotate', `v${version}`, '--message', `billsync ${version}`);
  process.stdout.write(`Tagged v${version}. \`git push --follow-tags\` publishes it.\n`);
}

async function refuseAdvisories(accepted: readonly string[]): Promise<void> {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const { lines, inProduct } = await compareWithAdvisories(lock, { accepted });
  process.stderr.write(`${lines.join('\n')}\n`);
  if (inProduct.length === 0) return;
  throw new ReleaseRefusedError(
    'Packages that are published have advisories: update them, or name those that do not apply with --accept ID.',
  );
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ReleaseRefusedError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
