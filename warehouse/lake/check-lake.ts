/** Tries a lake as a reader would, for `doctor`: the extensions, the catalogue, and whether the rows can be reached. */

import { DuckDBInstance } from '@duckdb/node-api';
import { readCatalogAddress } from './catalog-address.ts';
import { extensionsFor, loadExtensions } from './extensions.ts';
import { knownGeneration } from './generation.ts';
import { attachForReading } from './lake-reader.ts';
import type { LakeSettings } from './lake-source.ts';

/**
 * @returns one line for people, without secrets
 * @throws catalog-unreachable, extension-missing, and what DuckDB says of files it cannot read
 */
export async function checkLake(lake: LakeSettings): Promise<string> {
  const { shown } = readCatalogAddress(lake.catalog);
  const generation = await knownGeneration(readCatalogAddress(lake.catalog));
  const instance = await DuckDBInstance.create(':memory:');
  try {
    const connection = await instance.connect();
    const run = (statement: string): Promise<unknown> => connection.run(statement);
    if (generation === null) {
      await loadExtensions(run, extensionsFor(lake.dataPath));
      return `lake at ${shown}, data in ${lake.dataPath}; no warehouse yet, a worker makes it`;
    }
    await attachForReading(lake, run);
    const counted = await connection.runAndReadAll('select count(*)::integer as n from lake.shipment_rows');
    const [{ n } = { n: 0 }] = counted.getRowObjectsJson();
    connection.closeSync();
    return `lake at ${shown}, generation ${generation}, ${n} rows in ${lake.dataPath}`;
  } finally {
    instance.closeSync();
  }
}
