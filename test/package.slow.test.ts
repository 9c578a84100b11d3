/** The published package, packed as a release is: all that it reads at run time is in it, and it plays the whole demo. */

import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporalExecutable } from '../lib/temporal/server-executable.ts';
import { testFolder } from './support/folders.ts';
import { billsync } from './support/processes/billsync.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const folder = testFolder();
const program = join(folder, 'package/bin/billsync');

beforeAll(async () => {
  // The project's .npmrc lets no package run scripts; building our own before it is packed is one.
  await run('npm', ['pack', '--silent', '--ignore-scripts=false', '--pack-destination', folder], {
    cwd: root,
  });
  await run('tar', ['-xzf', join(folder, 'billsync-0.1.0.tgz'), '-C', folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'package/node_modules'));
  // It ends what hangs: beside a load of 40 the build alone took two minutes.
}, 600_000);

describe('the published package', () => {
  test('contains compiled code only', async () => {
    const { stdout } = await run('tar', ['-tzf', join(folder, 'billsync-0.1.0.tgz')]);
    const files = stdout.trim().split('\n');
    expect(files.filter((file) => /\.ts$|\/(test|bench|scripts)\//.test(file))).toEqual([]);
    expect(files).toContain('package/dist/workflow-bundle.js');
    expect(files).toEqual(
      expect.arrayContaining(['package/dist/sbom.cdx.json', 'package/dist/licences.txt']),
    );
  });

  test('runs the demo to its proof', async () => {
    const path = `${dirname(await temporalExecutable())}${delimiter}${process.env.PATH}`;
    const env = { PATH: path, HOME: folder, TMPDIR: folder };
    const { exitCode, stdout, stderr } = await billsync(['demo'], {
      program,
      env,
      cwd: folder,
    });
    expect(stderr).toContain('✓ settled');
    expect(stdout).toMatch(/Proved: (\d+) of \1 values equal what the service billed\./);
    expect(exitCode).toBe(0);
  });
});
