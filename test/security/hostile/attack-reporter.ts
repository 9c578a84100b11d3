/** Prints the table of attacks at the end of `npm run test:security`, also for tests that failed before they recorded one. */

import type { Reporter, TestCase } from 'vitest/node';
import type { Attack } from '../../support/attack.ts';

export class AttackReporter implements Reporter {
  private readonly byName = new Map<string, Attack>();

  onTestCaseResult(test: TestCase): void {
    const { attacks = [] } = test.meta();
    const isLost = test.result().state === 'failed' && attacks.every(({ tries, held }) => tries === held);
    for (const each of attacks) this.add(each);
    if (isLost) this.add({ name: `${test.fullName} (the test failed)`, tries: 1, held: 0 });
  }

  /** Tries of one name are one row, whichever tests made them. */
  private add({ name, tries, held }: Attack): void {
    const before = this.byName.get(name);
    this.byName.set(name, { name, tries: tries + (before?.tries ?? 0), held: held + (before?.held ?? 0) });
  }

  onTestRunEnd(): void {
    const attacks = [...this.byName.values()];
    if (attacks.length === 0) return;
    const sum = (key: 'tries' | 'held'): number => attacks.reduce((total, row) => total + row[key], 0);
    const all = { name: 'together', tries: sum('tries'), held: sum('held') };
    const rows = [...attacks.sort((a, b) => (a.name < b.name ? -1 : 1)), all];
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
