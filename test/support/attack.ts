/** Records the attempts of security tests: `npm run test:security` prints them as a table. */

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

/** Records an attack for the table and fails the test unless every attempt was held. */
export function attack(
  name: string,
  { tries, held }: { readonly tries: number; readonly held: number },
): void {
  const meta = TestRunner.getCurrentTest()?.meta;
  if (meta !== undefined) meta.attacks = [...(meta.attacks ?? []), { name, tries, held }];
  expect(tries, `${name}: there were no tries`).toBeGreaterThan(0);
  expect({ name, held }).toEqual({ name, held: tries });
}

/** Texts that break a query which is concatenated instead of bound. */
export const INJECTIONS: readonly string[] = [
  "' or 1=1 --",
  "' or '1'='1",
  "'; drop view shipments; --",
  "'; drop table shipment_rows; --",
  "'); delete from shipment_rows; --",
  "' union select * from invoice_state --",
  '" or ""="',
  '"; drop view shipments; --',
  "\\' or 1=1 --",
  "%' or '%'='",
  '%',
  '_',
  '*',
  '.*',
  "Acme' --",
  "Acme'/*",
  '*/ or 1=1 /*',
  '$date_from',
  '$1',
  '?',
  ':tenant',
  "getvariable('tenants')",
  "['Acme']",
  'Acme, Beta',
  'Acme\u0000',
  'Acme\n',
  ' Acme',
  'ACME',
  "'||(select current_setting('enable_external_access'))||'",
  "'; attach '/etc/passwd'; --",
  '{{tenant}}',
  "$$; copy shipments to '/tmp/billsync-injected.csv'; $$",
];
/** Tries each case, one after the other, and fails with those that were not held. */
export async function attackEach<T>(
  name: string,
  cases: readonly T[],
  isHeld: (each: T) => boolean | Promise<boolean>,
): Promise<void> {
  const missed: T[] = [];
  for (const each of cases) if (!(await isHeld(each))) missed.push(each);
  attackResult(name, cases, missed);
}

export function attackResult<T>(name: string, cases: readonly T[], missed: readonly unknown[]): void {
  expect.soft(missed, name).toEqual([]);
  attack(name, { tries: cases.length, held: cases.length - missed.length });
}
