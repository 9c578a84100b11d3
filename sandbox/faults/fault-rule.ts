/** What a fault that was switched on is told, and the moments that it is held against. */

import type { FaultName } from './fault-catalogue.ts';

/** Where a fault can strike: the HTTP endpoints, and the steps inside the service. */
export const PLACES = [
  'token',
  'ping',
  'regenerate',
  'details',
  'export-csv',
  'storage',
  'event',
  'delivery',
  'export',
] as const;
export type Place = (typeof PLACES)[number];

/** Only what is named is struck; everything left out matches all. */
export interface FaultTarget {
  readonly invoiceId?: string;
  /** Tenant name, id, or the partner's own id of the tenant. */
  readonly tenant?: string;
  readonly endpoint?: Place | readonly Place[];
  readonly eventType?: string;
  readonly registrationId?: string;
}

export interface FaultRule {
  readonly faultId: string;
  readonly name: FaultName;
  /** Share of the moments at which it strikes, 0 to 1. */
  readonly rate: number;
  /** How many times it strikes at most; null has no limit. */
  readonly count: number | null;
  /** How many matching moments pass before it may strike. */
  readonly after: number;
  readonly target: FaultTarget;
  readonly seed: number;
  /** Settings of this kind of fault; the catalogue names them with their defaults. */
  readonly params: Readonly<Record<string, string | number | boolean>>;
  /** ISO instant from which it no longer strikes, null for ever. */
  readonly until: string | null;
  readonly struck: number;
  readonly met: number;
}

export interface NewFault {
  readonly name: string;
  readonly rate?: number;
  readonly count?: number;
  readonly after?: number;
  readonly target?: FaultTarget;
  readonly seed?: number;
  readonly params?: Readonly<Record<string, string | number | boolean>>;
  /** Stop striking after so many milliseconds ("404 for a while"). */
  readonly forMs?: number;
}

/** A moment at which a fault may strike. */
export interface Moment {
  readonly place: Place;
  readonly invoiceId?: string | undefined;
  /** Every word by which a rule may name the tenant. */
  readonly tenantWords?: readonly string[] | undefined;
  readonly eventType?: string | undefined;
  readonly registrationId?: string | undefined;
}

/** A setting of a rule as a number; `add` has made sure that it is one. */
export function numberParam(rule: FaultRule, name: string): number {
  return Number(rule.params[name]);
}

/** A switch of a rule; rules from command lines carry text. */
export function switchParam(rule: FaultRule, name: string): boolean {
  return rule.params[name] === true || rule.params[name] === 'true';
}

/** Where it strikes; none: at the usual places of its kind. */
export function placesOf({ target }: Pick<FaultRule, 'target'>): readonly Place[] {
  if (target.endpoint === undefined) return [];
  return typeof target.endpoint === 'string' ? [target.endpoint] : target.endpoint;
}
