import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import { LongestFirst } from './longest-first.ts';
import seconds from './test-seconds.json' with { type: 'json' };

const root = fileURLToPath(new URL('../../..', import.meta.url));

test('the table of long test files names those that there are', () => {
  expect(Object.keys(seconds).filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

/** The order of files of one project, by what vitest remembers of each in milliseconds. */
async function order(
  files: readonly string[],
  remembered: Readonly<Record<string, number>>,
): Promise<string[]> {
  const ctx = {
    config: { root },
    cache: {
      getFileTestResults: (key: string) =>
        remembered[key] === undefined ? undefined : { duration: remembered[key], failed: false },
      getFileStats: () => undefined,
    },
  } as unknown as Vitest;
  const specifications = files.map((file) => ({
    moduleId: join(root, file),
    project: { name: 'alone', config: { isolate: true, sequence: { groupOrder: 0 } } },
  })) as unknown as TestSpecification[];
  const sorted = await new LongestFirst(ctx).sort(specifications);
  return sorted.map(({ moduleId }) => moduleId.slice(root.length));
}

test('where nothing is remembered, the table decides, and what it does not have comes last', async () => {
  const [longest = '', second = ''] = Object.keys(seconds);
  expect(await order(['test/short.test.ts', second, longest], {})).toEqual([
    longest,
    second,
    'test/short.test.ts',
  ]);
});

test('what an earlier run took counts before the table', async () => {
  const [longest = '', second = ''] = Object.keys(seconds);
  const remembered = { [`alone:${longest}`]: 10, 'alone:test/grown.test.ts': 900_000 };
  expect(await order([longest, second, 'test/grown.test.ts'], remembered)).toEqual([
    'test/grown.test.ts',
    second,
    longest,
  ]);
});
