import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { findCosts } from '../../../finance/cost-alerts/find-costs.ts';
import { readCostRules } from '../../../finance/cost-alerts/rules.ts';
import { checkCosts, watchCosts } from '../../../finance/cost-alerts/watch-costs.ts';
import { createLogger } from '../../../lib/log/log.ts';
import { testFolder } from '../../support/folders.ts';
import { memoryAlerts } from '../../support/memory-alerts.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { anInvoice, aShipment, reportsFixture } from '../../support/reports-fixture.ts';
import { testSettings } from '../../webhook/a-delivery.ts';

/** A Wednesday: the last whole week is that of Monday the 16th. */
const NOW = new Date('2026-03-25T12:00:00Z');

const on = (shipDate: string, cost: string, more: object = {}) => aShipment({ shipDate, cost, ...more });
/** Acme: 100 in each of four weeks, then 150. Beta: 100 in each of four, then nothing. New: 40 in the last week alone. */
const weekly = ['2026-02-17', '2026-02-24', '2026-03-03', '2026-03-10'];
const acme = anInvoice([...weekly.map((day) => on(day, '100')), on('2026-03-18', '150.0001')], {
  tenant: 'Acme',
});
const beta = anInvoice(
  weekly.map((day) => on(day, '100', { tenant: 'Beta & Söhne' })),
  { tenant: 'Beta & Söhne' },
);
const fresh = anInvoice([on('2026-03-20', '40', { tenant: 'New' })], { tenant: 'New' });
const twice = anInvoice([
  on('2026-01-05', '12.5', { tracking: 'TWICE' }),
  on('2026-01-06', '12.5', { tracking: 'TWICE' }),
]);

let folder: string;
let { alerts, raised, resolved } = memoryAlerts();
const fixture = await reportsFixture([acme, beta, fresh, twice]);
beforeEach(async () => {
  folder = testFolder();
  await mkdir(join(folder, 'user'));
  ({ alerts, raised, resolved } = memoryAlerts());
});
afterAll(() => fixture.remove());

const inStore = (name: string): string => join(folder, 'user', name);
const write = (rules: string): Promise<void> => writeFile(inStore('cost-rules.yaml'), rules);
const options = (more: object = {}) => ({
  ...{ dataDir: folder, databasePath: fixture.path, dashboardUrl: null, now: () => NOW },
  log: createLogger(testSettings(folder), 'worker', { write: () => {} }),
  alerts,
  ...more,
});
const titles = (): string[] => raised.map(({ title }) => title);

const SPEND = `
rules:
  - name: spend-up
    report: tenants
    trailing: 4
    when:
      change_percent: { above: 20 }
`;

async function found(rules: string) {
  await write(rules);
  const [rule] = (await readCostRules(folder)) ?? [];
  if (rule === undefined) throw new Error('no rule');
  return findCosts(rule, { databasePath: fixture.path, now: NOW, timeLimitMs: 60_000 });
}

describe('a rule', () => {
  test('holds the last whole week against the average of the weeks before, exactly', async () => {
    // Acme: 150.0001 against 400 / 4 = 100: 50.0001 %. New had nothing, of which there is no percentage.
    const [only, ...more] = await found(SPEND);
    expect(more).toEqual([]);
    expect(only?.what).toContain('tenant Acme');
    expect(only?.what).toContain(
      'billing_cost 150.0001, average_before 100.0000, difference 50.0001, change_percent 50.0001',
    );
    expect(only?.command).toBe('billsync report tenants --from 2026-03-16 --to 2026-03-22');
    expect(only?.page).toBe('/reports/tenants?from=2026-03-16&to=2026-03-22');
  });

  test.each([
    ['50.0001', 0],
    ['50', 1],
  ])('above %s finds %i: the threshold itself is not above it', async (above, count) => {
    expect(await found(SPEND.replace('20', above))).toHaveLength(count);
  });

  test('finds a tenant that had shipments and has none now', async () => {
    const gone = await found(SPEND.replace('above: 20', 'below: -99'));
    expect(gone.map(({ what }) => what)).toEqual([expect.stringContaining('tenant Beta & Söhne')]);
  });

  test('takes a ratio of all weeks together, not a quarter of it', async () => {
    const rule =
      'rules: [{ name: lane, report: tenants, trailing: 4, of: cost_per_shipment, when: { difference: { above: 0 } } }]';
    const [only, ...more] = await found(rule);
    expect(more).toEqual([]);
    expect(only?.what).toContain('cost_per_shipment 150.0001, average_before 100.0000, difference 50.0001');
  });
});

describe('a finding', () => {
  test('is reported once, also by the next process', async () => {
    await write(SPEND);
    await checkCosts(options());
    await checkCosts(options());
    expect(titles()).toEqual([expect.stringMatching(/^spend-up: .*tenant Acme/)]);
    expect(raised[0]?.key).toMatch(/^cost-rule\/spend-up\/[0-9a-f]{16}$/);
  });

  test('is reported again for another week', async () => {
    await write(SPEND.replace('above: 20', 'below: 20'));
    await checkCosts(options());
    await checkCosts(options({ now: () => new Date('2026-04-01T12:00:00Z') }));
    const weeks = raised.map(({ title, detail }) => `${/tenant (\w+)/.exec(title)?.[1]} ${detail}`);
    expect(new Set(weeks).size).toBe(raised.length);
    expect(raised.length).toBeGreaterThan(1);
  });

  test('is reported again after a process died before it recorded the report', async () => {
    await write(SPEND);
    await checkCosts(options());
    await rm(inStore('cost-findings.json'));
    await checkCosts(options());
    expect(raised).toHaveLength(2);
  });

  test('links to the configured dashboard', async () => {
    await write(SPEND);
    await checkCosts(options({ dashboardUrl: 'https://admin.example/bill' }));
    expect(raised[0]?.detail).toBe(
      'https://admin.example/bill/reports/tenants?from=2026-03-16&to=2026-03-22',
    );
  });

  test('is counted beyond the first ten', async () => {
    await write('rules: [{ name: all, report: cost, parameters: { by: week+tenant } }]');
    await checkCosts(options());
    expect(titles()).toHaveLength(11);
    expect(titles().at(-1)).toBe('all: 1 more finding');
    await checkCosts(options());
    expect(titles()).toHaveLength(11);
  });

  test('is looked for after a publication, and many publications are one look', async () => {
    await write(SPEND);
    let looks = 0;
    const now = (): Date => {
      looks += 1;
      return NOW;
    };
    const watch = watchCosts(options({ now }));
    for (let publication = 0; publication < 50; publication += 1) watch.published();
    await watch.check.run();
    await watch.check.run();
    expect([looks, raised.length]).toEqual([1, 1]);
    watch.published();
    await watch.check.run();
    expect([looks, raised.length]).toEqual([2, 1]);
  });
});

test('reports findings that cannot be recorded, with the file', async () => {
  await write(SPEND);
  await mkdir(inStore('cost-findings.json'));
  await watchCosts(options()).check.run();
  expect(raised).toMatchObject([
    { key: 'cost-rules', detail: `${inStore('cost-findings.json')}: it is a folder` },
  ]);
});

describe('invalid rules', () => {
  test.each([
    ['rules:\n  - name: a\n    report: tenant', 'line 2: rule a: There is no report "tenant"'],
    ['rules:\n  - name: A b\n    report: tenants', 'line 2: name: small letters'],
    ['rules:\n  - name: a\n    report: tenants\n    whem: {}', 'whem'],
    ['rules:\n  - name: a\n    report: tenants\n    when:\n      billing_cost: { above: 1e3 }', 'line 5'],
    ['rules:\n  - name: a\n    report: tenants\n    parameters: { nosuch: 1 }', 'no parameter "nosuch"'],
    [
      'rules:\n  - name: a\n    report: tenants\n    trailing: 4\n    period: last-month',
      'a period cannot be given',
    ],
    [
      'rules:\n  - { name: a, report: tenants }\n  - { name: a, report: zones }',
      'line 3: rule a: another rule',
    ],
    ['rules: [', 'this is no YAML'],
    ['- 1', 'rules'],
    ['', 'rules'],
  ])('%j are named with their line', async (rules, message) => {
    await write(rules);
    await checkCosts(options());
    expect(raised).toMatchObject([{ key: 'cost-rules', detail: expect.stringContaining(message) }]);
  });

  test('of a column that is not there are an alert, and the other rules are applied', async () => {
    await write(`${SPEND}  - { name: odd, report: tenants, when: { nosuch: { above: 1 } } }\n`);
    await checkCosts(options());
    expect(titles()).toEqual([expect.stringContaining('spend-up'), 'Cost rules cannot be applied']);
    expect(raised[1]?.detail).toContain('rule odd: tenants has no such column "nosuch"');
    await write(SPEND);
    await checkCosts(options());
    expect(resolved).toEqual(['cost-rules']);
  });

  test('of a tenant that is misspelt are an alert, not a rule that finds nothing', async () => {
    await write('rules: [{ name: typo, report: tenants, filters: { tenant: [Acmee] } }]');
    await checkCosts(options());
    expect(raised).toMatchObject([
      { key: 'cost-rules', detail: expect.stringContaining('rule typo: No tenant is "Acmee"') },
    ]);
    expect(raised[0]?.detail).toContain('Acme');
  });

  test('when there is no file, nothing is looked at and nothing is kept', async () => {
    await checkCosts(options());
    expect([raised, resolved]).toEqual([[], ['cost-rules']]);
    await expect(readFile(inStore('cost-findings.json'))).rejects.toThrow('ENOENT');
  });
});

test('lists the findings of draft rules without an alert', async () => {
  await writeFile(
    join(folder, 'draft.yaml'),
    'rules: [{ name: twice, report: duplicates, when: { money_at_risk: { above: 1 } } }]',
  );
  const args = ['alerts', 'costs', '--rules', join(folder, 'draft.yaml'), '--json'];
  const listed = await runCommand([...args, '--data-dir', fixture.folder]);
  expect(listed.exitCode).toBe(1);
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { rule: 'twice', what: expect.stringContaining('TWICE') },
  ]);
});
