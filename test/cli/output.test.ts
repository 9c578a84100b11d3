import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Column, paint, printable, renderTable } from '../../cli/terminal/table.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly cost: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name, canShrink: true },
  { title: 'cost', value: ({ cost }) => cost, align: 'right' },
];
const ROWS = [
  { id: '0b8e2a1c-6f2e-4c57', name: 'A name that goes on and on, 北海道 and further', cost: '1,234.5000' },
  { id: '1', name: 'Short', cost: '-1.0000' },
];

function terminal(columns: number): void {
  vi.spyOn(process.stdout, 'isTTY', 'get').mockReturnValue(true);
  vi.spyOn(process.stdout, 'columns', 'get').mockReturnValue(columns);
}

/** A stream of a test runner has neither property of its own. */
for (const property of ['isTTY', 'columns'] as const) {
  if (!(property in process.stdout))
    Object.defineProperty(process.stdout, property, { get: () => undefined, configurable: true });
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('renderTable', () => {
  test('truncates words, not numbers', () => {
    vi.stubEnv('NO_COLOR', '1');
    terminal(60);
    const lines = renderTable(ROWS, COLUMNS).split('\n');
    expect(lines[1]).toMatch(/^0b8e2a1c-6f2e-4c57 {2}A name that goes .*… {2}1,234\.5000$/);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(60);
  });

  test('leaves out and names the last columns of a narrow terminal only', () => {
    vi.stubEnv('NO_COLOR', '1');
    terminal(42);
    expect(renderTable(ROWS, COLUMNS).split('\n')).toEqual([
      'id                  name',
      '0b8e2a1c-6f2e-4c57  A name that goes on a…',
      '1                   Short',
      '',
      'Columns left out on this narrow terminal: cost. A wider terminal or --json shows all.',
    ]);
    vi.restoreAllMocks();
    expect(renderTable(ROWS, COLUMNS)).toContain('北海道 and further');
  });
});

describe('paint', () => {
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
});

describe('printable', () => {
  test('escapes line breaks and control characters', () => {
    expect(printable('Two\r\nlines\nand three')).toBe('Two⏎lines⏎and three');
    expect(printable('\u001b[2Jgone\u202e')).toBe('\\u001b[2Jgone\\u202e');
    expect(printable(null)).toBe('–');
  });
});
