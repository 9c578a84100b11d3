/** Prints the table of attacks at the end of `npm run test:security`; a test that failed before it could tell is in it too. */

import type { Reporter, TestCase } from 'vitest/node';
import type { Attack } from './attack.js';

export class AttackReporter implements Reporter {
  private readonly rows: Attack[] = [];

  onTestCaseResult(test: TestCase): void {
    const { attacks = [] } = test.meta();
    const isLost = test.result().state === 'failed' && attacks.every(({ tries, held }) => tries === held);
    this.rows.push(...attacks);
    if (isLost) this.rows.push({ name: `${test.fullName} (the test failed)`, tries: 1, held: 0 });
  }

  onTestRunEnd(): void {
    if (this.rows.length === 0) return;
    const sum = (key: 'tries' | 'held'): number => this.rows.reduce((total, row) => total + row[key], 0);
    const all = { name: 'together', tries: sum('tries'), held: sum('held') };
    const rows = [...this.rows.sort((a, b) => (a.name < b.name ? -1 : 1)), all];
    const width = Math.max(...rows.map(({ name }) => name.length));
    const line = (name: string, tries: string, held: string): string =>
      `${name.padEnd(width)}  ${tries.padStart(9)}  ${held.padStart(9)}\n`;
    const lines = rows.map(({ name, tries, held }) =>
      line(
        `${name}`,
        tries.toLocaleString('en'),
        held.toLocaleString('en') + (held < tries ? '  NOT HELD' : ''),
      ),
    );
    process.stdout.write(`\n${line('attack', 'tries', 'held')}${lines.join('')}`);
  }
}
