/** Injects a fault and measures when an alert, the dashboard, a metric and a command report it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AlertName, anchorOf } from '../../../lib/alerts/alert-names.ts';
import { openAlerts } from '../../../lib/alerts/alert-store.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/service.ts';
import type { ServiceAddress } from '../../support/foreign-service.ts';
import { createProduct, type Product } from '../../support/processes/product.ts';

/** Seconds from the fault until each reported it; null: not within the time. */
export interface FaultReport {
  readonly fault: Pick<WatchedFault, 'name' | 'what' | 'alert'>;
  readonly title: string | null;
  readonly alert: number | null;
  readonly dashboard: number | null;
  readonly metric: number | null;
  readonly command: number | null;
  /** Seconds from the start of its cure until the alert ended; null: it did not end, or was not cured. */
  readonly over: number | null;
}

export interface PlayOptions {
  readonly withinMs?: number;
  /** Whether it is cured afterwards, which the next fault may need. */
  readonly isCured?: boolean;
}

const WITHIN_MS = 60_000;
const OVER_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 500;

export async function playFault<Where extends Stage>(
  stage: Where,
  fault: WatchedFault<Where>,
  { withinMs = WITHIN_MS, isCured = true }: PlayOptions = {},
): Promise<FaultReport> {
  const { dataDir } = stage.product;
  const admin = stage.product.address('up', 'dashboard') ?? '';
  const earlier = new Set((await openAlerts(dataDir)).map(({ key }) => key));
  const invoiceId = await fault.inject(stage);
  const beganMs = performance.now();
  const raised = async () =>
    (await openAlerts(dataDir)).find(
      ({ key, name, title, detail }) =>
        name === fault.alert &&
        (!earlier.has(key) || invoiceId === null) &&
        (invoiceId === null || `${key} ${title} ${detail}`.includes(invoiceId)),
    );
  const seconds = () => Math.round((performance.now() - beganMs) / 100) / 10;
  const found = { alert: null, dashboard: null, metric: null, command: null } as Record<
    'alert' | 'dashboard' | 'metric' | 'command',
    number | null
  >;
  let title: string | null = null;
  let key: string = fault.alert;
  while (performance.now() - beganMs < withinMs) {
    const alert = await raised();
    if (alert !== undefined) {
      title ??= alert.title;
      key = alert.key;
      found.alert ??= seconds();
      const page = await text(`${admin}alerts`);
      if (page.includes(`/runbook#${anchorOf(fault.alert)}`)) found.dashboard ??= seconds();
    }
    const metrics = await text(`${admin}metrics`);
    if (new RegExp(`^${fault.metric}`, 'm').test(metrics)) found.metric ??= seconds();
    if (found.alert !== null && found.command === null) {
      const { out } = await stage.product.command('alerts', 'list', '--json');
      if (out.includes(`"name": "${fault.alert}"`)) found.command = seconds();
    }
    if (Object.values(found).every((each) => each !== null)) break;
    await sleep(LOOK_EVERY_MS);
  }
  const over = isCured ? await cured(stage, fault, { key, invoiceId: invoiceId ?? '' }) : null;
  return { fault, title, ...found, over };
}

async function cured<Where extends Stage>(
  stage: Where,
  fault: WatchedFault<Where>,
  alert: RaisedAlert,
): Promise<number | null> {
  const beganMs = performance.now();
  try {
    await fault.cure(stage, alert);
  } catch (error) {
    process.stderr.write(`${fault.name}: the cure failed: ${(error as Error).message}\n`);
    return null;
  }
  // An acknowledged alert whose condition remains stays listed.
  const isOpen = ({ key, acknowledged }: { readonly key: string; readonly acknowledged: unknown }) =>
    key === alert.key && acknowledged === null;
  while ((await openAlerts(stage.product.dataDir)).some(isOpen)) {
    if (performance.now() - beganMs > OVER_WITHIN_MS) return null;
    await sleep(LOOK_EVERY_MS);
  }
  return (performance.now() - beganMs) / 1_000;
}

export function isReported({ alert, dashboard, metric, command }: FaultReport): boolean {
  return [alert, dashboard, metric, command].every((seconds) => seconds !== null);
}

async function text(url: string): Promise<string> {
  return fetch(url, { signal: AbortSignal.timeout(10_000) }).then(
    (answer) => answer.text(),
    () => '',
  );
}

export interface StageOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Addresses of the service for the product, if there is a proxy between them. */
  readonly behind?: (sandbox: Sandbox) => Promise<Partial<ServiceAddress>>;
  /** PEM against which the endpoint's certificate is verified; its own by default. */
  readonly endpointCa?: () => string;
}

export async function openStage(options: StageOptions = {}): Promise<Stage & { close(): Promise<void> }> {
  const sandbox = await startSandbox({ retryDelayMs: 500 });
  const between = (await options.behind?.(sandbox)) ?? {};
  const service = { ...sandbox, ...between, storageHost: new URL(sandbox.storageUrl).host };
  const settings = { BILLSYNC_PARTNER_ID: sandbox.partnerId, ...options.settings };
  const product = await createProduct({ service, settings });
  const close = async (): Promise<void> => {
    await product.close();
    await sandbox.close();
  };
  const endpointCa =
    options.endpointCa ?? (() => readFileSync(join(product.dataDir, 'keys', 'webhook-cert.pem'), 'utf8'));
  try {
    await product.start('up');
    sandbox.registerWebhook({
      ...{ name: 'billsync', url: product.webhookUrl, active: true },
      headers: {
        authorization: `Basic ${Buffer.from(`${product.user}:${product.password}`).toString('base64')}`,
      },
      caPem: endpointCa(),
    });
    return { sandbox, product, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export interface Stage {
  readonly sandbox: Sandbox;
  readonly product: Product;
}

export interface WatchedFault<Where extends Stage = Stage> {
  readonly name: string;
  readonly what: string;
  readonly alert: AlertName;
  /** A line of `/metrics` besides that of the open alert, as a regular expression. */
  readonly metric: string;
  /** Milliseconds within which it has to be reported; default: those of the program. */
  readonly withinMs?: number;
  /** @returns the affected invoice, or null */
  readonly inject: (stage: Where) => Promise<string | null>;
  /** Removes the fault at its cause and runs the commands of the runbook. */
  readonly cure: (stage: Where, alert: RaisedAlert) => Promise<void>;
}

/** The alert that reported a fault. */
export interface RaisedAlert {
  readonly key: string;
  readonly invoiceId: string;
}
