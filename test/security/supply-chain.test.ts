import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { compareWithAdvisories } from '../../scripts/advisories.ts';
import { ACCEPTED_LICENCES, billOfMaterials } from '../../scripts/bill-of-materials.ts';
import { listen } from '../support/listen.ts';

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
  test('are pinned by a hash on every platform', () => {
    const unpinned = installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'));
    expect(unpinned.map(([path]) => path)).toEqual([]);
  });

  test('are named without a host', () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  test('run no install script', () => {
    expect(read('.npmrc').split('\n')).toContain('ignore-scripts=true');
  });
});

describe('the bill of materials', () => {
  test('lists every production package with an accepted license', async () => {
    const bill = await billOfMaterials();
    expect(JSON.parse(bill.text)).toMatchObject({ bomFormat: 'CycloneDX' });
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    const names = bill.packages.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(bill.packages.filter(({ licence }) => !ACCEPTED_LICENCES.has(licence))).toEqual([]);
  });
});

describe('advisories', () => {
  const lock = JSON.stringify({
    lockfileVersion: 3,
    packages: {
      '': { version: '0.1.0' },
      'node_modules/good': { version: '1.0.0' },
      'node_modules/bad': { version: '1.2.3' },
      'node_modules/good/node_modules/@of/tool': { version: '2.0.0', dev: true },
    },
  });

  /** As OSV answers a batch of questions. */
  async function osv(status = 200): Promise<{ url: string; close(): void }> {
    const server = createServer(async (request, response) => {
      const { queries } = (await json(request)) as { queries: { package: { name: string } }[] };
      const ids: Record<string, string> = { bad: 'GHSA-1', '@of/tool': 'GHSA-2' };
      const results = queries.map(({ package: { name } }) =>
        Object.hasOwn(ids, name) ? { vulns: [{ id: ids[name] }] } : {},
      );
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
    });
    return { url: `http://127.0.0.1:${await listen(server)}`, close: () => server.close() };
  }

  test('of a locked package are named and refuse a release', async () => {
    const { url, close } = await osv();
    const found = await compareWithAdvisories(lock, { accepted: [], url });
    expect(found.lines.slice(1)).toEqual(['GHSA-1: bad 1.2.3', 'GHSA-2: @of/tool 2.0.0 (development only)']);
    expect(found.inProduct.map(({ id }) => id)).toEqual(['GHSA-1']);
    expect((await compareWithAdvisories(lock, { accepted: ['GHSA-1'], url })).inProduct).toEqual([]);
    close();
  });

  test('that are unavailable are reported', async () => {
    const { url, close } = await osv(503);
    const failing = await compareWithAdvisories(lock, { accepted: [], url });
    expect(failing.lines).toEqual([`NOT COMPARED with any advisory list, 3 packages: ${url} answered 503`]);
    close();
    const away = await compareWithAdvisories(lock, { accepted: [], url: 'http://127.0.0.1:1' });
    expect(away.lines[0]).toMatch(/^NOT COMPARED with any advisory list, 3 packages: /);
  });
});
