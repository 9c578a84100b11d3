import type { RunbookEntry } from './entry.ts';
import { INVOICES } from './invoices.ts';
import { MACHINE } from './machine.ts';
import { RECEIVING } from './receiving.ts';
import { SERVICE } from './service.ts';

const ENTRIES = { ...RECEIVING, ...SERVICE, ...INVOICES, ...MACHINE };

export type AlertName = keyof typeof ENTRIES;
type AlertOfMany = {
  [Name in AlertName]: (typeof ENTRIES)[Name] extends { readonly each: string } ? Name : never;
}[AlertName];

/** Stable key of an alert: `disk/full`, `attention/<invoiceId>`. */
export type AlertKey = Exclude<AlertName, AlertOfMany> | `${AlertOfMany}/${string}`;

export const ALERT_NAMES = Object.keys(ENTRIES) as AlertName[];
export const RUNBOOK = Object.fromEntries(
  ALERT_NAMES.map((name) => [name, withItsEnd(ENTRIES[name])]),
) as Readonly<Record<AlertName, RunbookEntry>>;

export function alertNameOf(key: string): AlertName | null {
  if (isAlertName(key)) return key;
  const prefix = key.slice(0, Math.max(0, key.indexOf('/')));
  return isAlertName(prefix) && RUNBOOK[prefix].each !== undefined ? prefix : null;
}

export function isNotice(key: string): boolean {
  const name = alertNameOf(key);
  return name !== null && RUNBOOK[name].isNotice === true;
}

export function scopeOf(key: string): 'all' | 'machine' | 'process' {
  const name = alertNameOf(key);
  return (name === null ? undefined : RUNBOOK[name].scope) ?? 'all';
}

export function isAlertName(text: string): text is AlertName {
  return Object.hasOwn(ENTRIES, text);
}

export function anchorOf(name: string): string {
  return name.replaceAll('/', '-');
}

function withItsEnd(entry: RunbookEntry): RunbookEntry {
  if (entry.isNotice !== true) return entry;
  const end =
    'Then `billsync alerts acknowledge KEY`, with the key that `billsync alerts list` names: it ends the alert.';
  return { ...entry, cure: [...entry.cure, end] };
}
