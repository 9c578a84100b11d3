import { spawn } from 'node:child_process';
import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, test } from 'vitest';
import { recoveredOf } from '../../../finance/disputes/claim-status.ts';
import { appendChange, type ClaimEntry, readClaims } from '../../../finance/disputes/journal.ts';
import { deadlineOf, parseClaimWindows, readClaimWindows } from '../../../finance/disputes/windows.ts';
import { testFolder } from '../../support/folders.ts';
import { cleanEnvironment } from '../../support/processes/billsync.ts';
import { testProgram } from '../../support/processes/test-program.ts';
import { aLine } from './a-claim.ts';

let folder: string;
beforeEach(async () => {
  folder = testFolder();
});

const decided = { at: '2026-04-01T09:00:00.000Z', by: 'anna', note: '' };
const path = () => join(folder, 'user', 'disputes', 'journal.ndjson');
const append = (entry: ClaimEntry) => appendChange(folder, () => entry);
const opened = (number: number, more: object = {}) => ({
  ...decided,
  kind: 'opened' as const,
  claims: [{ id: `D-${number}`, ...aLine({ row_number: number, ...more }) }],
});
const sent = (id: string, version: number) => ({
  ...decided,
  ...({ kind: 'changed', state: 'sent', claims: [{ id, version }] } as const),
});

describe('the journal of claims', () => {
  test('decides each change on the ones before it, also when many are made at once', async () => {
    const numbers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        let number = 0;
        await appendChange(folder, ({ nextNumber }) => {
          number = nextNumber;
          return opened(nextNumber, { row_number: index });
        });
        return number;
      }),
    );
    expect(numbers.sort((one, other) => one - other)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    const refused = appendChange(folder, () => {
      throw new Error('refused');
    });
    await expect(refused).rejects.toThrow('refused');
    expect((await readClaims(folder)).all.size).toBe(20);
  });

  test('counts the first of two entries that contradict each other', async () => {
    await append(opened(1));
    await append(opened(1, { row_number: 9 }));
    await append(opened(2, { row_number: 1 }));
    await append(sent('D-1', 2));
    await append({ ...sent('D-1', 2), state: 'closed' });
    const { all } = await readClaims(folder);
    expect([...all.values()].map(({ id, row_number, state }) => [id, row_number, state])).toEqual([
      ['D-1', 1, 'sent'],
    ]);
    await append({ ...sent('D-1', 3), state: 'closed' });
    await append(opened(2, { row_number: 1 }));
    const { all: after } = await append({ ...sent('D-1', 4), state: 'open' });
    expect([...after.values()].map(({ id, state }) => [id, state])).toEqual([
      ['D-1', 'closed'],
      ['D-2', 'open'],
    ]);
  });

  test('leaves out a truncated line, which was never confirmed, and replaces it by the next change', async () => {
    await append(opened(1));
    const { length } = await readFile(path());
    await append(sent('D-1', 2));
    const whole = await readFile(path());
    for (let size = length + 2; size < whole.length; size += 7) {
      await writeFile(path(), whole.subarray(0, size));
      const torn = await readClaims(folder);
      expect([torn.all.get('D-1')?.version, torn.problems]).toEqual([1, []]);
    }
    await truncate(path(), length + 40);
    const after = await append(sent('D-1', 2));
    expect(after.all.get('D-1')?.version).toBe(2);
    expect(await readClaims(folder)).toEqual(after);
  });

  test('names a damaged line, continues behind it, and does not reuse its numbers', async () => {
    await append(opened(7));
    await writeFile(path(), (await readFile(path(), 'utf8')).replace('"opened"', '"oponed"'));
    await append(opened(8));
    await appendFile(path(), '{"change": 1}\n');
    const { problems, nextNumber, all } = await readClaims(folder);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(/line 1 cannot be read .* compare with a backup/);
    expect([nextNumber, [...all.keys()]]).toEqual([9, ['D-8']]);
  });

  test('has every confirmed change, each whole, after any number of kill -9', async () => {
    const confirmed = new Map<string, number>();
    for (let kill = 0; kill < 8; kill += 1) {
      const args = [testProgram('finance/disputes/change-claims.ts'), folder, String(kill * 1_000_000)];
      const writer = spawn(process.execPath, args, {
        env: cleanEnvironment(),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let lines = 0;
      for await (const line of createInterface({ input: writer.stdout })) {
        const { ids, version } = JSON.parse(line) as { ids: string[]; version: number };
        for (const id of ids) confirmed.set(id, version);
        lines += 1;
        // Anywhere within the next change: a change takes less than these few milliseconds.
        if (lines === 3 + kill) setTimeout(() => writer.kill('SIGKILL'), Math.random() * 3);
      }
      const { all, problems } = await readClaims(folder);
      expect(problems).toEqual([]);
      for (const [id, version] of confirmed) expect(all.get(id)?.version).toBeGreaterThanOrEqual(version);
      const claims = [...all.values()];
      expect(claims.length % 20).toBe(0);
      for (let first = 0; first < claims.length; first += 20)
        expect(new Set(claims.slice(first, first + 20).map(({ version }) => version)).size).toBe(1);
    }
    expect(confirmed.size).toBeGreaterThan(8 * 20);
  });
});

describe('the recovered amount', () => {
  const claim = (id: string, claimed: string, more: object = {}) => ({
    ...aLine({ row_number: Number(id.slice(2)), claimed, ...more }),
    id,
  });
  const of = (claims: ReturnType<typeof claim>[], credited: bigint) =>
    Object.fromEntries(recoveredOf(claims, credited));

  test.each([
    ['nothing was credited', 0n, '0.0000', '0.0000'],
    ['a part of the first', 99_999n, '9.9999', '0.0000'],
    ['the first and a part of the second', 150_001n, '12.5000', '2.5001'],
    ['more than both', 300_000n, '12.5000', '17.5000'],
  ])('is divided among claims of one number, oldest first: %s', (_, credited, first, second) => {
    const claims = [claim('D-1', '12.5000'), claim('D-2', '10.0000')];
    expect(of(claims, credited)).toEqual({ 'D-1': first, 'D-2': second });
  });

  test('is nothing of what was credited before, and the newer claim has only what came after it', () => {
    const claims = [
      claim('D-1', '5.0000', { credited_before: '3.0000' }),
      claim('D-2', '5.0000', { credited_before: '6.0000' }),
    ];
    expect(of(claims, 20_000n)).toEqual({ 'D-1': '0.0000', 'D-2': '0.0000' });
    // 3 to 6 are the first one's alone; of the next 4 it has 2 left to take.
    expect(of(claims, 100_000n)).toEqual({ 'D-1': '5.0000', 'D-2': '2.0000' });
  });

  test('goes to the newer of two claims of one line', () => {
    const claims = [claim('D-1', '5.0000'), claim('D-2', '5.0000', { row_number: 1 })];
    expect(of(claims, 40_000n)).toEqual({ 'D-1': '0.0000', 'D-2': '4.0000' });
  });

  test('sums to what was credited since the first claim, whatever the claims are', () => {
    let state = 7;
    const below = (limit: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state % limit;
    };
    for (let round = 0; round < 2_000; round += 1) {
      const claims = Array.from({ length: 1 + below(5) }, (_, index) =>
        claim(`D-${index + 1}`, `${below(9)}.${String(below(10_000)).padStart(4, '0')}`, {
          credited_before: `${below(4)}.0000`,
          row_number: below(3),
        }),
      );
      const credited = BigInt(below(200_000));
      const least = claims.reduce((low, { credited_before }) => Math.min(low, Number(credited_before)), 99);
      const expected = credited - BigInt(least) * 10_000n;
      const sum = [...recoveredOf(claims, credited).values()].reduce(
        (total, amount) => total + BigInt(amount.replace('.', '')),
        0n,
      );
      expect(sum).toBe(expected > 0n ? expected : 0n);
    }
  });
});

describe('claim windows', () => {
  const windows = (text: string) => parseClaimWindows({ path: 'claim-windows.yaml', text });

  test('count from the day the carrier counts from, the last day included', async () => {
    const { windows: read } = await windows(
      'windows:\n  - { carrier: UPS, days: 30 }\n  - { carrier: fedex, days: 10, from: ship-date }\n  - { carrier: "*", days: 5, from: invoice-date }',
    );
    const now = new Date('2026-04-05T23:59:00Z');
    expect(deadlineOf(aLine(), read, now)).toEqual({ closes_on: '2026-04-05', days_left: 0 });
    expect(deadlineOf(aLine({ carrier: 'fedex' }), read, now)).toEqual({
      closes_on: '2026-03-12',
      days_left: -24,
    });
    expect(deadlineOf(aLine({ carrier: 'usps' }), read, now).closes_on).toBe('2026-03-15');
    expect(deadlineOf(aLine({ carrier_invoice_date: null }), read, now).closes_on).toBe('2026-04-09');
    expect(deadlineOf(aLine(), [], now)).toEqual({ closes_on: null, days_left: null });
    expect(await readClaimWindows(folder)).toEqual({
      ...{ windows: [], warn_days: 14, answer_days: 30, min_amount: '0' },
    });
  });

  test.each([
    ['windows:\n  - carrier: ups\n    days: soon', 'line 3: days: a number of days'],
    ['windows:\n  - carrier: ups\n    days: 0', 'line 3: days: a number of days'],
    ['windows:\n  - { carrier: ups, days: 3 }\n  - { carrier: UPS, days: 4 }', 'line 3: another line is of'],
    ['windows:\n  - { carrier: ups, days: 3, from: birth }', 'line 2: from'],
    ['warn_days: -1\nwindows: []', 'line 1: warn_days: a number of days, 0 to 9999'],
    ['windows: [', 'this is no YAML'],
    ['', 'line 1: windows'],
  ])('%j is refused with its line', async (text, message) => {
    await expect(windows(text)).rejects.toThrow(message);
  });
});
