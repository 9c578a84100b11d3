/** A fault strikes by its seed and the requests it has matched, never by timing: the same seed gives the same sequence. */

import type { Core } from '../core.ts';
import type { FaultRule } from '../model.ts';
import { fractionFrom } from '../randomness.ts';
import { RefusalError, refuse } from '../refusal.ts';
import { FAULT_NAMES, FAULTS, type FaultName, findFault, type Place } from './fault-catalogue.ts';
import { MALFORMATION_NAMES } from './malformed-csv.ts';

export type NewFault = Partial<Pick<FaultRule, 'rate' | 'after' | 'target' | 'seed' | 'params'>> & {
  readonly name: string;
  readonly count?: number;
  readonly forMs?: number;
};

export interface Moment {
  readonly place: Place;
  readonly invoiceId?: string | undefined;
  /** The names by which a rule may name the tenant of this moment. */
  readonly tenantNames?: readonly string[] | undefined;
  readonly eventType?: string | undefined;
  readonly registrationId?: string | undefined;
}

/** `add` has refused any rule whose parameter is not a number. */
export function numberParam(rule: FaultRule, name: string): number {
  return Number(rule.params[name]);
}

/** Rules from command lines contain text. */
export function switchParam(rule: FaultRule, name: string): boolean {
  return rule.params[name] === true || rule.params[name] === 'true';
}

/** The list is empty for a rule without an endpoint, which strikes at the default places of its fault. */
function placesOf({ target }: Pick<FaultRule, 'target'>): readonly Place[] {
  if (target.endpoint === undefined) return [];
  return typeof target.endpoint === 'string' ? [target.endpoint] : target.endpoint;
}

export class Faults {
  readonly #options: Core;
  /** How often each rule has matched: the count makes one draw differ from the next. */
  readonly #matchCounts = new Map<string, number>();

  constructor(options: Core) {
    this.#options = options;
  }

  /** @throws RefusalError for an unknown name, place, setting or number */
  add(fault: NewFault): FaultRule {
    const name = findFault(fault.name);
    if (name === null) {
      refuse(`There is no fault "${fault.name}"; there are ${FAULT_NAMES.join(', ')}.`);
    }
    const definition = FAULTS[name];
    const { store, seed, now } = this.#options;
    const number = store.count('faults');
    const rule: FaultRule = {
      faultId: `fault-${number}`,
      name,
      rate: inRange('rate', fault.rate ?? 1, 0, 1),
      count: fault.count === undefined ? null : inRange('count', fault.count, 1, 1e9),
      after: inRange('after', fault.after ?? 0, 0, 1e9),
      target: fault.target ?? {},
      seed: fault.seed ?? seed,
      params: { ...definition.params, ...fault.params },
      until: fault.forMs === undefined ? null : new Date(now().getTime() + fault.forMs).toISOString(),
      struck: 0,
      met: 0,
    };
    for (const place of placesOf(rule)) {
      if (!definition.places.includes(place)) {
        const known = definition.places.join(', ');
        refuse(`The fault ${rule.name} strikes at ${known}, not at "${place}".`);
      }
    }
    checkParams(rule.name, fault.params ?? {});
    store.put('fault', rule.faultId, rule);
    return rule;
  }

  list(): readonly FaultRule[] {
    return [...this.#options.store.all('fault').values()];
  }

  /** Without an id, all rules are cleared. @throws RefusalError when there is no such rule */
  clear(faultId?: string): void {
    const { store } = this.#options;
    if (faultId !== undefined && store.get('fault', faultId) === undefined) {
      throw new RefusalError('not_found', `There is no fault rule "${faultId}".`);
    }
    for (const id of faultId === undefined ? [...store.all('fault').keys()] : [faultId]) {
      store.remove('fault', id);
    }
  }

  /** Clears the rules and their history, so that a rule added later draws from the start of its sequence. */
  reset(): void {
    this.#matchCounts.clear();
    this.clear();
  }

  /** Returns the first rule that strikes, and counts the strike; null when none does. */
  strike(name: FaultName, moment: Moment): FaultRule | null {
    for (const rule of this.#options.store.all('fault').values()) {
      if (rule.name === name && this.#matches(rule, moment) && this.#draw(rule, moment)) return rule;
    }
    return null;
  }

  #matches({ target, ...rule }: FaultRule, moment: Moment): boolean {
    if (rule.count !== null && rule.struck >= rule.count) return false;
    if (rule.until !== null && rule.until <= this.#options.now().toISOString()) return false;
    const places = placesOf({ ...rule, target });
    const here = places.length === 0 ? FAULTS[rule.name].defaultPlaces : places;
    if (!here.includes(moment.place)) return false;
    if (target.invoiceId !== undefined && target.invoiceId !== moment.invoiceId) return false;
    if (target.tenant !== undefined && !moment.tenantNames?.includes(target.tenant)) return false;
    if (target.eventType !== undefined && target.eventType !== moment.eventType) return false;
    return target.registrationId === undefined || target.registrationId === moment.registrationId;
  }

  #draw(rule: FaultRule, moment: Moment): boolean {
    const { store, activity } = this.#options;
    const met = rule.met + 1;
    const kind = [moment.place, moment.invoiceId ?? '', moment.eventType ?? ''].join('|');
    const key = `${rule.faultId}|${kind}`;
    const match = (this.#matchCounts.get(key) ?? 0) + 1;
    this.#matchCounts.set(key, match);
    // By name, not by rule: a rule that is switched off and on again with its seed repeats its sequence.
    const draw = fractionFrom(rule.seed, rule.name, kind, match);
    const strikes = met > rule.after && draw < rule.rate;
    const next = { ...rule, met, struck: rule.struck + (strikes ? 1 : 0) };
    store.put('fault', rule.faultId, next);
    if (strikes) activity.add('fault', `${rule.name} strikes at ${moment.place}`, moment.invoiceId ?? null);
    return strikes;
  }
}

function checkParams(name: FaultName, params: Readonly<Record<string, string | number | boolean>>): void {
  const defaults: Readonly<Record<string, string | number | boolean>> = FAULTS[name].params;
  for (const [key, value] of Object.entries(params)) {
    const usual = defaults[key];
    if (usual === undefined) refuse(`The fault ${name} has no setting "${key}".`);
    if (typeof usual === 'number' && !Number.isFinite(Number(value))) {
      refuse(`The setting ${key} of fault ${name} has to be a number.`);
    }
  }
  const kind = params.kind;
  if (kind !== undefined && kind !== 'random' && !MALFORMATION_NAMES.includes(String(kind))) {
    refuse(`There is no malformation "${kind}".`);
  }
}

function inRange(name: string, value: number, min: number, max: number): number {
  if (Number.isFinite(value) && value >= min && value <= max) return value;
  refuse(`${name} is ${value}; it goes from ${min} to ${max}.`);
}
