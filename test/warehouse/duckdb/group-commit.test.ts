import { describe, expect, test } from 'vitest';
import { GroupCommit } from '../../../warehouse/duckdb/group-commit.js';

describe('GroupCommit', () => {
  test('does at once what comes alone, and together what comes meanwhile', async () => {
    const groups: (readonly number[])[] = [];
    const commit = new GroupCommit<number, number>(async (asked) => {
      groups.push(asked);
      await new Promise((done) => setImmediate(done));
      return asked.map((n) => n * 10);
    });
    expect(await Promise.all([1, 2, 3, 4].map((n) => commit.do(n)))).toEqual([10, 20, 30, 40]);
    expect(groups).toEqual([[1], [2, 3, 4]]);
    expect(await commit.do(5)).toBe(50);
    expect(groups).toHaveLength(3);
  });

  test('fails only for the one that cannot be done', async () => {
    const commit = new GroupCommit<number, number>(async (asked) => {
      await new Promise((done) => setImmediate(done));
      if (asked.includes(3)) throw new Error('three');
      return asked;
    });
    const settled = await Promise.allSettled([1, 2, 3, 4].map((n) => commit.do(n)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await commit.do(5)).toBe(5);
  });
});
