/** Parses and builds addresses of the list of shipments. */

import { DEFAULT_COLUMNS, DEFAULT_SORT } from '../../reports/shipments/columns.ts';
import { CONDITION_NAMES, type ShipmentConditions } from '../../reports/shipments/conditions.ts';
import type { ShipmentsRequest } from '../../reports/shipments/list-shipments.ts';
import { all, one, type Query } from '../address.ts';

const ROWS_ON_A_PAGE = 100;
/** Maximum rows of one answer; there is always a next page. */
const MAX_ROWS_ON_A_PAGE = 10_000;

export function conditionsOf(query: Query): ShipmentConditions {
  const named = Object.keys(query).filter((name) => CONDITION_NAMES.includes(name) || name.startsWith('is_'));
  // A field of the form that was left empty asks nothing, whereas `is_zone=` asks for lines without a zone.
  const asked = (name: string) => all(query, name).filter((value) => name.startsWith('is_') || value !== '');
  const given = named.map((name) => [name, asked(name)] as const);
  return Object.fromEntries(given.filter(([, values]) => values.length > 0));
}

/** @param usual the columns of whoever chose none */
export function askedOf(query: Query, usual: readonly string[] = DEFAULT_COLUMNS): ShipmentsRequest {
  const columns = all(query, 'columns').filter((name) => name !== '');
  const limit = Number(one(query, 'limit') ?? ROWS_ON_A_PAGE);
  return {
    conditions: conditionsOf(query),
    columns: columns.length > 0 ? columns : usual,
    sort: one(query, 'sort') ?? DEFAULT_SORT,
    after: one(query, 'after'),
    limit: Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_ROWS_ON_A_PAGE ? limit : ROWS_ON_A_PAGE,
  };
}

/** The conditions of an address, without page, order and columns. */
export function withoutPlace(query: Query): Query {
  const place = ['after', 'sort', 'columns', 'limit', 'format'];
  return Object.fromEntries(Object.entries(query).filter(([name]) => !place.includes(name)));
}
