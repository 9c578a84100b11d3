/** Registers our search attributes: an unregistered one stalls every workflow task for ever. */

import type { Connection } from '@temporalio/client';
import protos from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../wire/names.ts';

/** Registers what is missing; a call where nothing is missing costs one request. Safe to call from many processes. */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return;
  const keyword = protos.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
  });
}
