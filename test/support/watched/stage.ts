/** One `up` beside one sandbox, for faults to be injected into. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Sandbox, startSandbox } from '../../../sandbox/service.ts';
import type { ServiceAddress } from '../foreign-service/service-settings.ts';
import { createProduct } from '../processes/product.ts';
import type { Stage } from './watched-fault.ts';

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
