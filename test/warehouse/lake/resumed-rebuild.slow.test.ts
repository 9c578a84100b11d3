import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLakeDatabase } from '../../../warehouse/lake/attach-lake.ts';
import { readCatalogAddress } from '../../../warehouse/lake/catalog-address.ts';
import { dryRunRebuild, rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import { cleanEnvironment } from '../../support/processes/billsync.ts';
import { testProgram } from '../../support/processes/test-program.ts';
import { everything } from '../story.ts';
import { aCsv, aWarehouse, loadCsv, makeDataDir, silent, type TestWarehouse } from '../support.ts';
import {
  type LakeServer,
  type LakeTestSettings,
  publishedPath,
  queryLake,
  startLakeServer,
} from './support.ts';

let server: LakeServer;
let settings: LakeTestSettings;
let t: TestWarehouse;
beforeAll(async () => {
  server = await startLakeServer();
  settings = await server.aLake(makeDataDir());
  t = await aWarehouse({ settings });
});
afterAll(async () => {
  await t?.close();
  await server?.stop();
});

const whole = () => everything(publishedPath(settings), (sql) => queryLake(settings, sql));
const options = () => ({ settings, archive: t.archive, log: silent });

/** Versions of one invoice are loaded one after the other, so it dies between two of them. */
async function rebuildAndDie(): Promise<void> {
  const program = testProgram('warehouse/rebuild-and-die.ts');
  const args = [program, settings.dataDir, '2', JSON.stringify(settings)];
  const dying = spawn(process.execPath, args, {
    env: cleanEnvironment(),
    stdio: 'inherit',
  });
  expect((await once(dying, 'exit'))[1]).toBe('SIGKILL');
}

async function leaveRows(): Promise<void> {
  const { catalog, dataPath } = settings.warehouse;
  const place = { address: readCatalogAddress(catalog), dataPath, generation: 2 };
  const folders = { folders: [settings.dataDir], temporaryFolder: settings.dataDir };
  const database = await openLakeDatabase({ place, ...folders, memoryLimit: null });
  const rows = 'from lake.main.shipment_rows where load_id = 1';
  await database.use((session) =>
    session.statement(`insert into lake.main.shipment_rows select 4, * exclude (load_id) ${rows}`),
  );
  database.close();
}

test('a rebuild that was killed is gone on with, without rows that did not come to count', async () => {
  for (const rows of [1, 2, 3, 4]) await loadCsv(t, aCsv(Array.from({ length: rows }, () => ({}))));
  await t.warehouse.publish();
  const live = await whole();
  await t.warehouse.close();

  await rebuildAndDie();
  const [{ load_id: last } = {}] = await server.query(
    settings,
    'select max(load_id) as load_id from billsync_2.loads',
  );
  expect(Number(last)).toBeLessThan(4);
  const { loadsBefore = 0, ...made } = await dryRunRebuild(options());
  expect(loadsBefore).toBeGreaterThan(1);
  expect(made).toMatchObject({ loads: 4, losses: [], holdsLess: false });

  await rebuildAndDie();
  await leaveRows();
  const rebuilt = await rebuildWarehouse(options());
  expect(rebuilt.loadsBefore).toBeGreaterThan(1);
  expect(rebuilt).toMatchObject({ loads: 4, losses: [], holdsLess: false });
  expect(await whole()).toEqual(live);
  await t.reopen();
  expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  expect(await loadCsv(t, aCsv(Array.from({ length: 5 }, () => ({}))))).toMatchObject({ outcome: 'loaded' });
  const ids = 'select count(distinct load_id)::integer as ids from billsync_2.loads';
  expect(await server.query(settings, ids)).toEqual([{ ids: 5 }]);
});
