import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acknowledgeAlerts, openAlerts } from '../../lib/alerts/alert-store.ts';
import { type Alerts, createAlerts } from '../../lib/alerts/alerts.ts';
import { durationMs } from '../../lib/config/setting-values.ts';
import { createLogger } from '../../lib/log/log.ts';
import { folderStore, registerUserStore } from '../../lib/user-store.ts';
import { testFolder } from '../support/folders.ts';
import { alertSettings, testSettings } from '../webhook/a-delivery.ts';

const root = testFolder();

function threeMachines() {
  const shared = { ...folderStore(mkdtempSync(join(root, 'shared-'))), isShared: true };
  const notices: string[] = [];
  let nowMs = Date.parse('2026-03-01T00:00:00Z');
  const machines = Array.from({ length: 3 }, () => {
    const dataDir = mkdtempSync(join(root, 'machine-'));
    registerUserStore(dataDir, async () => shared);
    const settings = { ...testSettings(dataDir), alerts: alertSettings() };
    const write = (line: string): void => {
      const [, state = '', key = ''] = /"state":"(\w+)","key":"([^"]+)"/.exec(line) ?? [];
      if (state !== '') notices.push(`${state} ${key}`);
    };
    const alerts = createAlerts({
      ...{ settings, log: createLogger(settings, 'worker', { write }), scrub: (text: string) => text },
      ...{ now: () => new Date(nowMs), store: { dataDir, role: 'worker' } },
    });
    return { alerts, dataDir };
  });
  const all = async (act: (alerts: Alerts) => void) => {
    for (const { alerts } of machines) act(alerts);
    await Promise.all(machines.map(({ alerts }) => alerts.close()));
    return notices.splice(0);
  };
  const wait = (duration: string): void => {
    nowMs += durationMs(duration);
  };
  return {
    machines,
    all,
    notices,
    wait,
    open: () => openAlerts(machines[0]?.dataDir ?? '', new Date(nowMs)),
  };
}

test('sends one notice of an alert that three machines raise, and lists one', async () => {
  const { all, open, wait } = threeMachines();
  expect(await all((alerts) => alerts.raise({ key: 'gaps', title: 'Sad.' }))).toEqual(['raised gaps']);
  expect(await open()).toHaveLength(1);
  wait('61m');
  expect(await all((alerts) => alerts.raise({ key: 'gaps', title: 'Sad.' }))).toEqual(['raised gaps']);
  expect(await all((alerts) => alerts.resolve('gaps'))).toEqual(['resolved gaps']);
  expect(await open()).toEqual([]);
});

test('ends the alert of an invoice on whichever machine the cause ends', async () => {
  const { machines, notices, open } = threeMachines();
  const [one, two] = machines;
  one?.alerts.raise({ key: 'attention/1', title: 'Sad.' });
  await one?.alerts.close();
  two?.alerts.resolve('attention/1');
  await two?.alerts.close();
  expect([notices, await open()]).toEqual([['raised attention/1', 'resolved attention/1'], []]);
});

test('ends an outage when the last machine is over it', async () => {
  const { machines, all, notices, open } = threeMachines();
  const away = { key: 'archive', title: 'Away.' } as const;
  expect(await all((alerts) => alerts.raise(away))).toEqual(['raised archive']);
  const [one, two, three] = machines;
  for (const machine of [one, two]) {
    machine?.alerts.resolve('archive');
    await machine?.alerts.close();
  }
  expect([notices, await open()]).toMatchObject([[], [{ key: 'archive' }]]);
  three?.alerts.resolve('archive');
  await three?.alerts.close();
  expect([notices, await open()]).toEqual([['resolved archive'], []]);
});

test('ends an alert only by the check that raised it', async () => {
  const { machines, notices, open } = threeMachines();
  const [one, two] = machines;
  const drift = { key: 'drift', title: 'Differs.' } as const;
  const steps: readonly ((alerts: Alerts | undefined) => void)[] = [
    (alerts) => alerts?.raise({ ...drift, check: 'full' }),
    (alerts) => alerts?.resolve('drift'),
    (alerts) => alerts?.raise(drift),
    (alerts) => alerts?.resolve('drift'),
  ];
  for (const [index, step] of steps.entries()) {
    const machine = index % 2 === 0 ? one : two;
    step(machine?.alerts);
    await machine?.alerts.close();
  }
  expect([notices, await open()]).toMatchObject([['raised drift'], [{ key: 'drift' }]]);
  two?.alerts.resolve('drift', { check: 'full' });
  await two?.alerts.close();
  expect([notices, await open()]).toEqual([['raised drift', 'resolved drift'], []]);
});

test('keeps an alert while any of the invoices that raised it has its cause', async () => {
  const { machines, notices, open, wait } = threeMachines();
  const [{ alerts } = {}] = machines;
  const noRoom = { key: 'disk/no-room', title: 'Full.' } as const;
  for (const invoice of ['1', '2', '3']) alerts?.raise(noRoom, invoice);
  for (const invoice of ['4', '1', '2']) alerts?.resolve('disk/no-room', { subject: invoice });
  await alerts?.close();
  expect([notices, await open()]).toMatchObject([['raised disk/no-room'], [{}]]);
  wait('61m');
  alerts?.resolve('disk/no-room', { subject: '4' });
  await alerts?.close();
  expect(await open()).toEqual([]);
});

test('changes nothing for one machine that is well while another one is not', async () => {
  const { machines, notices } = threeMachines();
  const ownChecks = ['credentials', 'retries', 'schedule', 'service/details', 'temporal/terminated'] as const;
  for (let round = 0; round < 5; round += 1) {
    for (const key of ownChecks) {
      machines[0]?.alerts.raise({ key, title: 'Sad.' });
      await machines[0]?.alerts.close();
      machines[1]?.alerts.resolve(key);
      await machines[1]?.alerts.close();
    }
  }
  expect(notices).toEqual(ownChecks.map((key) => `raised ${key}`));
});

test('sends a notice of each machine whose own disk is full', async () => {
  const { all, open } = threeMachines();
  const full = { key: 'disk/full', title: 'Full.' } as const;
  expect(await all((alerts) => alerts.raise(full))).toEqual(Array(3).fill('raised disk/full'));
  expect(new Set((await open()).map(({ role }) => role)).size).toBe(3);
});

test('takes an acknowledgement on one machine as one on all', async () => {
  const { machines, all, open, wait } = threeMachines();
  const raise = () => all((alerts) => alerts.raise({ key: 'gaps', title: 'Sad.' }));
  await raise();
  const decision = { at: '2026-03-01T00:30:00.000Z', by: 'anna', note: 'I look' };
  await acknowledgeAlerts(machines[2]?.dataDir ?? '', ['gaps'], decision);
  wait('5h');
  expect(await raise()).toEqual([]);
  expect(await open()).toMatchObject([{ key: 'gaps', acknowledged: decision }]);
});
