/** One `up` beside one sandbox, for faults to be injected into. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '../../../sandbox/service.js';
import { createProduct } from '../processes/product.js';
import type { Stage } from './watched-fault.js';

export async function openStage(): Promise<Stage & { close(): Promise<void> }> {
  const sandbox = await startSandbox({ retryDelayMs: 500 });
  const service = { ...sandbox, storageHost: new URL(sandbox.storageUrl).host };
  const product = await createProduct({ service, settings: { BILLSYNC_PARTNER_ID: sandbox.partnerId } });
  const close = async (): Promise<void> => {
    await product.close();
    await sandbox.close();
  };
  try {
    await product.start('up');
    sandbox.registerWebhook({
      ...{ name: 'billsync', url: product.webhookUrl, active: true },
      headers: {
        authorization: `Basic ${Buffer.from(`${product.user}:${product.password}`).toString('base64')}`,
      },
      caPem: readFileSync(join(product.dataDir, 'keys', 'webhook-cert.pem'), 'utf8'),
    });
    return { sandbox, product, close };
  } catch (error) {
    await close();
    throw error;
  }
}
