import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WarehouseDependencies } from '../../activities/dependencies.ts';
import { createWarehouseWideActivities } from '../../activities/warehouse.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { userStore } from '../../lib/user-store.ts';
import { writeReport, writeScheduledReport } from '../../worker/scheduled-reports.ts';
import { type ScheduledReport, TENANT_STATEMENTS } from '../../workflows/activities.ts';
import {
  applyReportSchedule,
  listReportSchedules,
  removeReportSchedule,
  reportScheduleId,
} from '../../workflows/client/schedules.ts';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { anInvoice, aShipment, type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';
import {
  connectForTests,
  type RunningWorkers,
  startWorkers,
  type TemporalForTests,
} from '../support/temporal.ts';

const NOW = new Date('2026-04-02T05:00:00Z');
const settings = { environment: 'test' } as const;
const queues = { billing: `reports-b-${randomUUID()}`, warehouse: `reports-w-${randomUUID()}` };
const name = `tenants-${randomUUID()}`;

let folder: string;
let fixture: ReportsFixture;
let temporal: TemporalForTests;
let workers: RunningWorkers;
const { alerts, open, calls } = memoryAlerts();
const announcements: Alert[] = [];

function reportActivities(writeReport: WarehouseDependencies['writeReport']) {
  return createWarehouseWideActivities({
    alerts: {
      ...alerts,
      raise(alert: Alert) {
        announcements.push(alert);
        alerts.raise(alert);
      },
    },
    ...{ writeReport, metrics: createMetrics('worker') },
  } as unknown as WarehouseDependencies);
}

beforeAll(async () => {
  folder = testFolder();
  fixture = await reportsFixture([
    anInvoice([
      aShipment({ shipDate: '2026-02-28', cost: '1' }),
      aShipment({ shipDate: '2026-03-31', cost: '2' }),
    ]),
  ]);
  temporal = await connectForTests();
  const activities = reportActivities((scheduled) =>
    writeScheduledReport(scheduled, {
      ...{ databasePath: fixture.path, dataDir: folder, now: NOW },
    }),
  );
  workers = await startWorkers(temporal, queues, { billing: {}, warehouse: activities });
});

afterAll(async () => {
  await removeReportSchedule(temporal.client, settings, name);
  await removeReportSchedule(temporal.client, settings, `${name}-statements`);
  await workers.stop();
  await temporal.close();
  await fixture.remove();
});

const scheduled = (changes: Partial<ScheduledReport> = {}): ScheduledReport => ({
  ...{
    name,
    report: 'tenants',
    filters: { tenants: ['Acme'] },
    period: 'last-month',
    parameters: {},
    tables: {},
  },
  ...{ format: 'json', folder: join(folder, 'new', 'folder') },
  ...changes,
});

const trigger = (report: string): Promise<void> =>
  temporal.client.schedule.getHandle(reportScheduleId(settings.environment, report)).trigger();

describe('a scheduled report', () => {
  test('is written for its period, announced, and leaves no partial file', async () => {
    await applyReportSchedule(
      temporal.client,
      settings,
      { cadence: 'daily', scheduled: scheduled() },
      queues,
    );
    await trigger(name);
    const path = join(folder, 'new', 'folder', `${name}-2026-04-02.json`);
    const text = await eventually(() => readFile(path, 'utf8').catch(() => null));
    const rows = JSON.parse(text) as { billing_cost: string }[];
    expect(rows.map((row) => row.billing_cost)).toEqual(['2.0000']);
    expect(await readdir(join(folder, 'new', 'folder'))).toEqual([`${name}-2026-04-02.json`]);
    const alert = await eventually(() => open.get(`report/${path}`));
    expect(alert.title).toContain(path);
    expect(alert.detail).toContain('Period: 2026-03-01 to 2026-03-31');
    expect(alert.detail).toContain('Proved: 100.00 % of shipments');
  });

  test('is listed, replaced under its name, and ended', async () => {
    const listed = async () =>
      (await listReportSchedules(temporal.client, settings)).filter((each) => each.name === name);
    await applyReportSchedule(
      temporal.client,
      settings,
      { cadence: 'monthly', scheduled: scheduled() },
      queues,
    );
    await eventually(async () => (await listed())[0]?.cadence === 'monthly');
    expect(await listed()).toMatchObject([{ isPaused: false }]);
    expect((await listed())[0]?.nextRun).toMatch(/-01T05:00:00.000Z$/);
    expect(await removeReportSchedule(temporal.client, settings, name)).toBe(true);
    expect(await removeReportSchedule(temporal.client, settings, name)).toBe(false);
    await eventually(async () => (await listed()).length === 0);
  });

  test('reports a failure and its end', async () => {
    const { writeReport: write } = reportActivities((request) =>
      writeReport(request, { databasePath: fixture.path, now: NOW }),
    );
    await expect(write(scheduled({ report: 'tenant' }))).rejects.toThrow();
    expect(open.get(`report-failed/${name}`)?.detail).toContain('tenants');
    await write(scheduled());
    expect(calls).toContain(`resolved report-failed/${name}`);
    expect(open.has(`report-failed/${name}`)).toBe(false);
  });

  test('sends the statements of the month before once', async () => {
    const statements = scheduled({
      ...{ name: `${name}-statements`, report: TENANT_STATEMENTS, format: 'csv', filters: {} },
      ...{ parameters: { paper: 'a4', final: 'yes', shipments: 'yes' }, folder: join(folder, 'statements') },
    });
    await applyReportSchedule(
      temporal.client,
      settings,
      { cadence: 'monthly', scheduled: statements },
      queues,
    );
    const path = join(folder, 'statements', '2026-03');
    const announced = () => announcements.filter(({ key }) => key === `report/${path}`);
    const contents = async () =>
      Promise.all((await readdir(path)).sort().map((file) => readFile(join(path, file), 'utf8')));
    await trigger(statements.name);
    await eventually(() => announced()[0]);
    const [lines = '', statement = ''] = await contents();
    expect(lines.match(/\r\n/g)).toHaveLength(2);
    expect(statement).toContain(',charge,');
    expect(announced()[0]?.detail).toContain('1 statement of 2026-03 · 2.0000 USD');
    // A schedule skips a run while the previous one is in progress.
    await eventually(async () => {
      if (announced()[1] === undefined) await trigger(statements.name);
      return announced()[1];
    });
    expect(await contents()).toEqual([lines, statement]);
    expect(announced()[1]?.detail).toBe(announced()[0]?.detail);
    const sent = await (await userStore(folder)).list('sent-statements');
    expect(sent.filter((path) => /\/\d{4}\.json$/.test(path))).toHaveLength(1);
  });
});
