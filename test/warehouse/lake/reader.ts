/** A reader and a writer of a lake in a process of their own, each inside a transaction while the test ends their connections. */

import { pino } from 'pino';
import { openFolderArchive } from '../../../archive/folder-archive.ts';
import { openPublishedFile } from '../../../reports/open-published-file.ts';
import { openLakeDatabase } from '../../../warehouse/lake/attach-lake.ts';
import { placeOf } from '../../../warehouse/lake/lake-reader.ts';
import { openWarehouse } from '../../../warehouse/open-warehouse.ts';
import { type LakeTestSettings, publishedPath } from './support.ts';

const settings = JSON.parse(process.argv[2] ?? '') as LakeTestSettings;
const archive = await openFolderArchive(`${settings.dataDir}/archive`);
const warehouse = await openWarehouse({ settings, archive, log: pino({ level: 'silent' }) });
await warehouse.close();

const file = await openPublishedFile(publishedPath(settings));
await file.query('select count(*) from shipments');
const place = await placeOf(settings.warehouse);
const database = await openLakeDatabase({
  ...{ place, folders: [], temporaryFolder: settings.dataDir, memoryLimit: null },
});
const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
const { promise: isInside, resolve: inside } = Promise.withResolvers<void>();
const writing = database.transaction(async (session) => {
  await session.statement('select count(*) from internal.loads');
  await session.statement('select count(*) from shipments');
  inside();
  await mayGoOn;
  await session.statement('select 1');
});
await isInside;
process.stdout.write('open\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();
file.close();
database.close();
goOn();
await writing.catch(() => undefined);
await archive.close();
