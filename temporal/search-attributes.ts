/** The three search attributes (decision 30), and their registration: an unregistered one stalls every workflow task. */

import type { Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import protos from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';

export const invoiceStateKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD);
export const tenantIdKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tenant, SearchAttributeType.KEYWORD);
export const environmentKey = defineSearchAttributeKey(
  SEARCH_ATTRIBUTES.environment,
  SearchAttributeType.KEYWORD,
);

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
