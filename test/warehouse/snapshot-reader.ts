/**
 * A reader in a process of its own: opens the published copy, holds it while newer ones replace it, and repeats one
 * query. Ends with an error when a result changes, does not add up, or cannot be read.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';

const [path = '', looksText = '5'] = process.argv.slice(2);
const QUERY = `select (select max(sequence) from publication)::integer as sequence,
    (select count(*) from internal.shipment_rows)::integer as stored, (select coalesce(sum(shipments), 0) from internal.loads)::integer as recorded,
    (select coalesce(sum(billing_cost), 0) from internal.shipment_rows)::varchar as stored_cost,
    (select coalesce(sum(billing_cost), 0) from internal.loads)::varchar as recorded_cost`;

process.stdout.write('ready\n');
for (;;) {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const answers = new Set<string>();
  for (let look = 0; look < Number(looksText); look += 1) {
    const [row] = (await connection.runAndReadAll(QUERY)).getRowObjectsJson();
    if (row?.stored !== row?.recorded || row?.stored_cost !== row?.recorded_cost)
      throw new Error(`does not add up: ${JSON.stringify(row)}`);
    answers.add(JSON.stringify(row));
    await sleep(100);
  }
  if (answers.size !== 1) throw new Error(`a copy that was held changed: ${[...answers].join(' then ')}`);
  connection.closeSync();
  instance.closeSync();
  process.stdout.write('held\n');
}
