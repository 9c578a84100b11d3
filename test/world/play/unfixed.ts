/**
 * Faults of the product that are known and being fixed: what they touch is not compared until then. An entry goes with
 * its fault.
 */

import type { Question } from '../history.ts';
import type { World } from '../model/truth.ts';
import type { View } from '../model/view.ts';

interface Unfixed {
  readonly fault: string;
  readonly isWorld?: (world: World) => boolean;
  readonly isQuestion?: (question: Question, views: readonly View[] | null) => boolean;
}

const MAX_AMOUNT = 10n ** 18n - 1n;
const UNFIXED: readonly Unfixed[] = [
  {
    fault: 'names of a tenant whose partner is not known are not compared with those of partners',
    isWorld: (world) =>
      world.invoices().some(({ tenantId, partnerId }) => tenantId !== null && partnerId === null),
  },
  {
    fault: 'a stated total above the limit of the column counts as not stated',
    isWorld: (world) =>
      world
        .invoices()
        .some(({ statedTotal: total }) => total !== null && (total > MAX_AMOUNT || -total > MAX_AMOUNT)),
  },
];

export function isUnfixedWorld(world: World): boolean {
  return UNFIXED.some(({ isWorld }) => isWorld?.(world) ?? false);
}

export function isUnfixedQuestion(question: Question, views: readonly View[] | null): boolean {
  return UNFIXED.some(({ isQuestion }) => isQuestion?.(question, views) ?? false);
}
