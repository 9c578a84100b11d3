import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `critical`: totals or deliveries are affected now. `warning`: a person has to decide or fix something today.
 * `info`: for information; nothing has to be done.
 */
export type Severity = 'critical' | 'warning' | 'info';

/** Its meaning and remedy are a section of docs/reference/runbook.md. */
interface AlertKind {
  readonly severity: Severity;
  /** An alert name with `each` has one alert for each thing of that kind. */
  readonly each?: string;
  /**
   * `machine`: an alert for each machine. `process`: one alert, over when no process has its cause; for what each process finds by
   * itself. By default any process ends it, because the ledgers decide, or an activity that any of them runs.
   */
  readonly scope?: 'machine' | 'process';
  /** True for an alert that only a person's acknowledgement ends (ADR 20). */
  readonly isNotice?: true;
  /** While this one is open on the machine, no message is sent: one cause, one message. */
  readonly causedBy?: 'disk/full';
}

const KINDS = {
  announcement: { severity: 'warning', each: 'invoice' },
  archive: { severity: 'critical', scope: 'process', causedBy: 'disk/full' },
  attention: { severity: 'warning', each: 'invoice' },
  'claims-to-send': { severity: 'warning', scope: 'process' },
  'claims-unanswered': { severity: 'warning', scope: 'process' },
  clock: { severity: 'critical', scope: 'machine' },
  component: { severity: 'critical', each: 'component', scope: 'process', causedBy: 'disk/full' },
  'cost-rule': { severity: 'warning', each: 'rule and finding', isNotice: true },
  'cost-rules': { severity: 'warning', scope: 'process' },
  credentials: { severity: 'critical', scope: 'process' },
  'dashboard/wrong-credentials': { severity: 'warning', scope: 'process' },
  'delivery-contradicts-itself': { severity: 'warning', isNotice: true },
  disk: { severity: 'critical', scope: 'machine', isNotice: true },
  'disk/full': { severity: 'critical', scope: 'machine' },
  'disk/no-room': { severity: 'critical', scope: 'machine', causedBy: 'disk/full' },
  down: { severity: 'critical', scope: 'machine' },
  drift: { severity: 'critical' },
  duckdb: { severity: 'critical', scope: 'machine', isNotice: true },
  'endpoint/certificate': { severity: 'warning', scope: 'machine' },
  'endpoint/unanswered': { severity: 'critical', scope: 'machine' },
  'event-id-repeated': { severity: 'warning', isNotice: true },
  excluded: { severity: 'critical', each: 'invoice' },
  expiry: { severity: 'warning', each: 'setting', scope: 'process' },
  failure: { severity: 'warning', each: 'invoice' },
  'forwarder/backlog': { severity: 'warning', scope: 'machine', causedBy: 'disk/full' },
  'forwarder/partner-unknown': { severity: 'warning', scope: 'process' },
  gaps: { severity: 'warning' },
  'inbox/left-behind': { severity: 'warning', scope: 'machine' },
  'inbox/unwritable': { severity: 'critical', scope: 'machine' },
  ingest: { severity: 'critical', scope: 'process', causedBy: 'disk/full' },
  'lake/blocked': { severity: 'critical', scope: 'process' },
  'month-restated': { severity: 'warning', each: 'month' },
  outranked: { severity: 'warning', each: 'invoice', isNotice: true },
  process: { severity: 'critical', each: 'role', scope: 'machine' },
  publication: { severity: 'critical', scope: 'process', causedBy: 'disk/full' },
  quarantine: { severity: 'warning', each: 'reason', scope: 'machine', isNotice: true },
  'quarantine/flood': { severity: 'warning', scope: 'machine', isNotice: true },
  'quarantine/old': { severity: 'warning', scope: 'machine' },
  report: { severity: 'info', each: 'file', isNotice: true },
  'report-failed': { severity: 'warning', each: 'schedule' },
  retries: { severity: 'warning', scope: 'process' },
  schedule: { severity: 'warning', scope: 'process' },
  'service/details': { severity: 'warning', scope: 'process' },
  'service/unwell': { severity: 'warning', scope: 'process' },
  'set-aside': { severity: 'warning', each: 'place', isNotice: true },
  'slow-host': { severity: 'warning', each: 'host', scope: 'process' },
  'temporal/away': { severity: 'critical', scope: 'process' },
  'temporal/foreign-event': { severity: 'critical', isNotice: true },
  'temporal/terminated': { severity: 'critical', scope: 'process' },
  'temporal/undecryptable': { severity: 'critical', scope: 'machine', isNotice: true },
  'temporal/unencrypted': { severity: 'critical', isNotice: true },
  totals: { severity: 'warning', each: 'invoice', isNotice: true },
  'unknown-status': { severity: 'warning', each: 'invoice' },
  'voided-after-load': { severity: 'info', each: 'invoice', isNotice: true },
  warehouse: { severity: 'critical', scope: 'process' },
  'warehouse/losses': { severity: 'critical', isNotice: true },
  'webhook/connections': { severity: 'warning', scope: 'machine', isNotice: true },
  'webhook/refused': { severity: 'critical', scope: 'machine', isNotice: true },
  'webhook/wrong-credentials': { severity: 'critical', scope: 'process' },
} as const satisfies Readonly<Record<string, AlertKind>>;

export type AlertName = keyof typeof KINDS;
type AlertOfMany = {
  [Name in AlertName]: (typeof KINDS)[Name] extends { readonly each: string } ? Name : never;
}[AlertName];

/** Stable key of an alert: `disk/full`, `attention/<invoiceId>`. */
export type AlertKey = Exclude<AlertName, AlertOfMany> | `${AlertOfMany}/${string}`;

export const ALERTS: Readonly<Record<AlertName, AlertKind>> = KINDS;
export const ALERT_NAMES = Object.keys(KINDS) as AlertName[];

export function alertNameOf(key: string): AlertName | null {
  if (isAlertName(key)) return key;
  const prefix = key.slice(0, Math.max(0, key.indexOf('/')));
  return isAlertName(prefix) && ALERTS[prefix].each !== undefined ? prefix : null;
}

export function isNotice(key: string): boolean {
  const name = alertNameOf(key);
  return name !== null && ALERTS[name].isNotice === true;
}

export function scopeOf(key: string): 'all' | 'machine' | 'process' {
  const name = alertNameOf(key);
  return (name === null ? undefined : ALERTS[name].scope) ?? 'all';
}

/** Returns the key of the alert that causes this one; null when no known alert does. */
export function causeOf(key: string): string | null {
  const name = alertNameOf(key);
  return (name === null ? undefined : ALERTS[name].causedBy) ?? null;
}

export function isAlertName(text: string): text is AlertName {
  return Object.hasOwn(KINDS, text);
}

/** The heading of the alert's section, without slashes, which an address of a heading cannot have. */
export function anchorOf(name: string): string {
  return name.replaceAll('/', '-');
}

/** Markdown of the alert's section in the runbook, without its heading: paragraphs, lists, and code between backticks. */
export function runbookSection(name: AlertName): string {
  const [, section = ''] = runbook().split(`\n## ${anchorOf(name)}\n`);
  return section.split('\n## ')[0]?.trim() ?? '';
}

function runbook(): string {
  return readFileSync(join(import.meta.dirname, '../../docs/reference/runbook.md'), 'utf8');
}
