/** A rebuild that is killed: it dies as soon as so many loads are there again. */

import { join } from 'node:path';
import { pino } from 'pino';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { rebuildWarehouse } from '../../warehouse/open-warehouse.ts';
import { settingsFor } from './support.ts';

const [dataDir = '', loads = '0', settings] = process.argv.slice(2);
await rebuildWarehouse({
  settings: settings === undefined ? settingsFor(dataDir) : JSON.parse(settings),
  archive: await openFolderArchive(join(dataDir, 'archive')),
  log: pino({ level: 'error' }, process.stderr),
  onProgress({ loadsDone }) {
    if (loadsDone >= Number(loads)) process.kill(process.pid, 'SIGKILL');
  },
});
