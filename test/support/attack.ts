/** Attacks of the security tests; `npm run test:security` prints them as a table. */

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

/** Adds an attack to the table and fails the test unless every try was repelled. */
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
