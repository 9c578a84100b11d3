/** What is installed beside our own code: pinned by hash, running no script, under licences that were looked at. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ACCEPTED_LICENCES, billOfMaterials } from '../../scripts/bill-of-materials.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
}

const { packages } = JSON.parse(read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const installed = Object.entries(packages).filter(([path]) => path !== '');

describe('packages from the registry', () => {
  test('are pinned by a hash, on every platform', () => {
    const unpinned = installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'));
    expect(unpinned.map(([path]) => path)).toEqual([]);
  });

  test('are named without the host that they came from', () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  test('run no script of theirs when a person installs them', () => {
    expect(read('.npmrc').split('\n')).toContain('ignore-scripts=true');
  });

  test('are wanted in one exact version each', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
      'dependencies' | 'devDependencies',
      Record<string, string>
    >;
    const ranges = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(ranges).toEqual([]);
  });
});

describe('the bill of materials', () => {
  test('lists every package that runs in production, each under an accepted licence', async () => {
    const bill = await billOfMaterials();
    expect(JSON.parse(bill.text)).toMatchObject({ bomFormat: 'CycloneDX' });
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    const names = bill.packages.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(bill.packages.filter(({ licence }) => !ACCEPTED_LICENCES.has(licence))).toEqual([]);
  });
});
