import { afterEach, describe, expect, test, vi } from 'vitest';
import { GroupCommit, type GroupLimits } from '../../lib/group-commit.ts';

function recorded(limits: GroupLimits<number>) {
  const groups: (readonly number[])[] = [];
  const commit = new GroupCommit<number, number>(async (inputs) => {
    groups.push(inputs);
    await new Promise((done) => setImmediate(done));
    return inputs;
  }, limits);
  return { groups, commit };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('GroupCommit', () => {
  test('runs a single call at once and groups concurrent ones', async () => {
    const groups: (readonly number[])[] = [];
    const commit = new GroupCommit<number, number>(async (inputs) => {
      groups.push(inputs);
      await new Promise((done) => setImmediate(done));
      return inputs.map((n) => n * 10);
    });
    expect(await Promise.all([1, 2, 3, 4].map((n) => commit.do(n)))).toEqual([10, 20, 30, 40]);
    expect(groups).toEqual([[1], [2, 3, 4]]);
    expect(await commit.do(5)).toBe(50);
    expect(groups).toHaveLength(3);
  });

  test('fails only the call that cannot be done, which it finds by halving', async () => {
    const groups: (readonly number[])[] = [];
    const commit = new GroupCommit<number, number>(async (inputs) => {
      groups.push(inputs);
      await new Promise((done) => setImmediate(done));
      if (inputs.includes(7)) throw new Error('seven');
      return inputs;
    });
    const inputs = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    const settled = await Promise.allSettled(inputs.map((n) => commit.do(n)));
    expect(settled.map(({ status }) => status === 'rejected')).toEqual(inputs.map((n) => n === 7));
    expect(groups).toEqual([
      [0],
      [1, 2, 3, 4, 5, 6, 7, 8],
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [5, 6],
      [7, 8],
      [7],
      [8],
    ]);
  });

  test('limits the size and weight of a group', async () => {
    const { groups, commit } = recorded({ maxItems: 3, weigh: (n) => n, maxWeight: 10 });
    await Promise.all([1, 1, 1, 1, 9, 2, 30, 4, 6].map((n) => commit.do(n)));
    expect(groups).toEqual([[1], [1, 1, 1], [9], [2], [30], [4, 6]]);
  });

  test('delays a group that is waited for, not a single call', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const { groups, commit } = recorded({ lingerMs: 50 });
    const [first, ...others] = [1, 2, 3].map((n) => commit.do(n));
    await first;
    const late = commit.do(4);
    await vi.advanceTimersByTimeAsync(49);
    expect(groups).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all([...others, late]);
    expect(groups).toEqual([[1], [2, 3, 4]]);
    await vi.advanceTimersByTimeAsync(50);
    const alone = commit.do(5);
    expect(groups).toEqual([[1], [2, 3, 4], [5]]);
    await alone;
    await vi.advanceTimersByTimeAsync(0);
    const next = commit.do(6);
    expect(groups).toEqual([[1], [2, 3, 4], [5], [6]]);
    await next;
  });

  test('ends the delay when sixteen calls wait', async () => {
    const { groups, commit } = recorded({ lingerMs: 3_600_000 });
    const first = commit.do(0);
    const second = commit.do(1);
    await first;
    const others = Array.from({ length: 15 }, (_, n) => commit.do(n + 2));
    await Promise.all([second, ...others]);
    expect(groups.map((group) => group.length)).toEqual([1, 16]);
  });
});
