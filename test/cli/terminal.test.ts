import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { lineProgress, paceOf } from '../../cli/terminal/output.ts';
import { type Column, paint, printable, renderTable } from '../../cli/terminal/table.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

describe('renderTable', () => {
  const COLUMNS: readonly Column<(typeof ROWS)[number]>[] = [
    { title: 'id', value: ({ id }) => id },
    { title: 'name', value: ({ name }) => name, canShrink: true },
    { title: 'cost', value: ({ cost }) => cost, align: 'right' },
  ];
  const ROWS = [
    { id: '0b8e2a1c-6f2e-4c57', name: 'A name that goes on and on, 北海道 and further', cost: '1,234.5000' },
    { id: '1', name: 'Short', cost: '-1.0000' },
  ];

  function onTerminal(columns: number): string[] {
    // A stream of a test runner has neither property of its own.
    for (const property of ['isTTY', 'columns'] as const)
      if (!(property in process.stdout))
        Object.defineProperty(process.stdout, property, { get: () => undefined, configurable: true });
    vi.stubEnv('NO_COLOR', '1');
    vi.spyOn(process.stdout, 'isTTY', 'get').mockReturnValue(true);
    vi.spyOn(process.stdout, 'columns', 'get').mockReturnValue(columns);
    return renderTable(ROWS, COLUMNS).split('\n');
  }

  test('truncates text, not numbers', () => {
    const lines = onTerminal(60);
    expect(lines[1]).toMatch(/^0b8e2a1c-6f2e-4c57 {2}A name that goes .*… {2}1,234\.5000$/);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(60);
  });

  test('shows a block for each row where not all columns fit', () => {
    expect(onTerminal(42)).toEqual([
      'id    0b8e2a1c-6f2e-4c57',
      'name  A name that goes on and on, 北海道 and further',
      'cost  1,234.5000',
      '',
      'id    1',
      'name  Short',
      'cost  -1.0000',
    ]);
    vi.restoreAllMocks();
    expect(renderTable(ROWS, COLUMNS)).toContain('北海道 and further');
  });
});

test('colors terminals only', () => {
  const names = ['NO_COLOR', 'NODE_DISABLE_COLORS', 'FORCE_COLOR', 'CI', 'TERM'] as const;
  for (const name of names) vi.stubEnv(name, name === 'TERM' ? 'xterm' : undefined);
  expect(paint('bold', 'x', { isTTY: true })).toBe('\u001b[1mx\u001b[22m');
  expect(paint('bold', 'x', {})).toBe('x');
  for (const [name, value] of [
    ['NO_COLOR', '1'],
    ['NODE_DISABLE_COLORS', '1'],
    ['FORCE_COLOR', '0'],
    ['TERM', 'dumb'],
  ] as const) {
    vi.stubEnv(name, value);
    expect(paint('bold', 'x', { isTTY: true }), name).toBe('x');
    vi.stubEnv(name, name === 'TERM' ? 'xterm' : undefined);
  }
});

test('escapes line breaks and control characters', () => {
  expect(printable('Two\r\nlines\nand three')).toBe('Two⏎lines⏎and three');
  expect(printable('\u001b[2Jgone\u202e')).toBe('\\u001b[2Jgone\\u202e');
  expect(printable(null)).toBe('–');
});

test('prints changed numbers at once, unchanged ones with the time, and the last ones at the end', () => {
  let written = '';
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
  const progress = lineProgress('Proving');
  for (let second = 0; second < 7; second += 1) {
    progress.update(0, 3, 'invoices');
    vi.advanceTimersByTime(1_000);
  }
  progress.update(1, 3, 'invoices');
  progress.update(3, 3, 'invoices');
  progress.end();
  expect(written.split('\n')).toEqual([
    'Proving: 0/3 invoices, 5 s so far',
    'Proving: 1/3 invoices',
    'Proving: 3/3 invoices',
    '',
  ]);
});

test('shows rate and remaining time after the start', () => {
  let ms = 0;
  const pace = paceOf('files', () => ms);
  for (const [at, done, of, text] of [
    [1_000, 10, 1_000, 'files'],
    [4_000, 9, 1_000, 'files'],
    [4_000, 600, 1_000, 'files, 150 a second, 3 s left'],
    [4_000, 1_000, 1_000, 'files, 250 a second'],
    [10_000, 15, 1_000, 'files, 1.5 a second, 11 min left'],
    [10_000, 15, 100_000, 'files, 1.5 a second, 18.5 h left'],
  ] as const) {
    ms = at;
    expect(pace(done, of)).toBe(text);
  }
});

test('reports on an interrupt what continues, and ends by the signal', async () => {
  const waiting = `
    import { onInterrupt } from './cli/terminal/interaction.ts';
    await onInterrupt('It is over already.', async () => 1);
    setInterval(() => undefined, 1_000);
    await onInterrupt('The worker continues.', async () => {
      process.stdout.write('waiting');
      await new Promise(() => undefined);
    });
  `;
  const args = ['--input-type=module', '--eval', waiting];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  const [code, signal] = await once(child, 'close');
  expect({ code, signal, stderr }).toEqual({
    ...{ code: null, signal: 'SIGINT', stderr: '\nThe worker continues.\n' },
  });
});
