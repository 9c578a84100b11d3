/** Injects a fault and looks, as a person at night would, for what says it: an alert, the dashboard, a metric, a command. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openAlerts } from '../../../lib/alerts/alert-store.ts';
import { type AlertName, anchorOf } from '../../../lib/alerts/runbook/runbook.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/service.ts';
import type { ServiceAddress } from '../../support/foreign-service.ts';
import { createProduct, type Product } from '../../support/processes/product.ts';

/** Seconds from the fault until each said it; null: not within the time. */
export interface Told {
  readonly fault: Pick<WatchedFault, 'name' | 'what' | 'alert'>;
  readonly title: string | null;
  readonly alert: number | null;
  readonly dashboard: number | null;
  readonly metric: number | null;
  readonly command: number | null;
  /** Seconds from the beginning of its cure until the alert was over; null: it was not, or was not cured. */
  readonly over: number | null;
}

export interface PlayOptions {
  readonly withinMs?: number;
  /** Whether it is cured afterwards; the next fault may need that. */
  readonly isCured?: boolean;
}

const WITHIN_MS = 60_000;
const OVER_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 500;

export async function playFault<Where extends Stage>(
  stage: Where,
  fault: WatchedFault<Where>,
  { withinMs = WITHIN_MS, isCured = true }: PlayOptions = {},
): Promise<Told> {
  const { dataDir } = stage.product;
  const admin = stage.product.address('up', 'dashboard') ?? '';
  const earlier = new Set((await openAlerts(dataDir)).map(({ key }) => key));
  const invoiceId = await fault.inject(stage);
  const beganMs = performance.now();
  const said = async () =>
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
    const alert = await said();
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
  told: ToldAlert,
): Promise<number | null> {
  const beganMs = performance.now();
  try {
    await fault.cure(stage, told);
  } catch (error) {
    process.stderr.write(`${fault.name}: the cure failed: ${(error as Error).message}\n`);
    return null;
  }
  while ((await openAlerts(stage.product.dataDir)).some(({ key }) => key === told.key)) {
    if (performance.now() - beganMs > OVER_WITHIN_MS) return null;
    await sleep(LOOK_EVERY_MS);
  }
  return (performance.now() - beganMs) / 1_000;
}

/** By all four, within the time. */
export function isTold({ alert, dashboard, metric, command }: Told): boolean {
  return [alert, dashboard, metric, command].every((seconds) => seconds !== null);
}

/** Also while it answers nothing: then it says nothing. */
async function text(url: string): Promise<string> {
  return fetch(url, { signal: AbortSignal.timeout(10_000) }).then(
    (answer) => answer.text(),
    () => '',
  );
}

export interface StageOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Where the service is for the product, if something stands between them. */
  readonly behind?: (sandbox: Sandbox) => Promise<Partial<ServiceAddress>>;
  /** PEM of what the endpoint's certificate is verified against, once it is there; its own by default. */
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
  /** How long it may go unsaid, in milliseconds; missing: as long as the others. */
  readonly withinMs?: number;
  /** @returns the invoice that it strikes; null: it strikes none in particular */
  readonly inject: (stage: Where) => Promise<string | null>;
  /**
   * Takes the fault away, as who is to blame for it would, and does what the runbook says: its commands, by its words.
   * What others raise by themselves is over by itself.
   */
  readonly cure: (stage: Where, told: ToldAlert) => Promise<void>;
}

/** The alert that told of a fault. */
export interface ToldAlert {
  readonly key: string;
  readonly invoiceId: string;
}
