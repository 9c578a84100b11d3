/** A writer that a file kills while it is loaded: opens the warehouse of a folder, begins to load that file, ends as by kill -9. */

import { join } from 'node:path';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { Session } from '../../warehouse/duckdb/session.ts';
import { openWarehouse } from '../../warehouse/open-warehouse.ts';
import { loadArchived, settingsFor, silent } from '../warehouse/support.ts';

const [dataDir = '', deadly = ''] = process.argv.slice(2);
const { all } = Session.prototype;
Session.prototype.all = function (name, params = {}) {
  if (String(params.csv_path).includes(deadly)) process.kill(process.pid, 'SIGKILL');
  return all.call(this, name, params);
};
const archive = await openFolderArchive(join(dataDir, 'archive'));
const warehouse = await openWarehouse({ settings: settingsFor(dataDir), archive, log: silent });
await loadArchived({ warehouse }, deadly);
process.stdout.write('it lives\n');
await warehouse.close();
await archive.close();
