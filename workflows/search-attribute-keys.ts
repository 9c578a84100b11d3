/** The typed keys of the three search attributes, for workflows and clients alike. */

import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../lib/wire/names.ts';

export const invoiceStateKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD);
export const tenantIdKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tenant, SearchAttributeType.KEYWORD);
export const environmentKey = defineSearchAttributeKey(
  SEARCH_ATTRIBUTES.environment,
  SearchAttributeType.KEYWORD,
);
