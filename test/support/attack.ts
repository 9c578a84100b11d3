/** How a test of safety says what was tried: `npm run test:security` prints it all as a table. */

import { expect, TestRunner } from 'vitest';

export interface Attack {
  readonly name: string;
  readonly tries: number;
  readonly held: number;
}

declare module 'vitest' {
  interface TaskMeta {
    attacks?: Attack[];
  }
}

/** Notes an attack for the table and fails the test unless every try was held. */
export function attack(
  name: string,
  { tries, held }: { readonly tries: number; readonly held: number },
): void {
  const meta = TestRunner.getCurrentTest()?.meta;
  if (meta !== undefined) meta.attacks = [...(meta.attacks ?? []), { name, tries, held }];
  expect(tries, `${name}: nothing was tried`).toBeGreaterThan(0);
  expect({ name, held }).toEqual({ name, held: tries });
}
