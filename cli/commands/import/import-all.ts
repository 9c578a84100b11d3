/** Has files imported: by the worker that runs, else here. */

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Archive } from '../../../archive/archive.ts';
import type { Settings } from '../../../lib/config/settings.ts';
import { claimDataFolder } from '../../../warehouse/data-folder.ts';
import type { Imported, ImportRequest } from '../../../warehouse/import/import-file.ts';
import { type CopyBegun, takeCopy } from '../../../warehouse/import/take-copy.ts';
import type { Warehouse } from '../../../warehouse/warehouse.ts';
import type { Output } from '../../terminal/output.ts';
import { paceOf } from '../../terminal/pace.ts';
import { withWriter } from '../../writer.ts';

/** A check makes no data folder where there is none: it is done in one that is gone afterwards. */
export async function rehearse(
  settings: Settings,
  requests: readonly ImportRequest[],
  output: Output,
): Promise<readonly Imported[]> {
  if (existsSync(settings.dataDir) || settings.warehouse.kind === 'ducklake') {
    return importAll(settings, requests, output);
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'billsync-import-'));
  try {
    const warehouse = { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') } as const;
    const archive = { kind: 'folder', path: join(dataDir, 'archive') } as const;
    return await importAll({ ...settings, dataDir, warehouse, archive }, requests, output);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The first file is read while the warehouse opens, further ones while others are loaded. */
export async function importAll(
  settings: Settings,
  requests: readonly ImportRequest[],
  output: Output,
): Promise<readonly Imported[]> {
  const [first] = requests;
  const progress = output.progress('Importing');
  const pace = paceOf('files');
  const onDone = (done: number): void => progress.update(done, requests.length, pace(done, requests.length));
  let begun: CopyBegun | undefined;
  try {
    onDone(0);
    return await withWriter(settings, {
      role: 'import',
      makesFolder: true,
      ask: (client) => askWorker(client, { settings, requests, onDone }),
      async begin() {
        await claimDataFolder(settings.dataDir, settings.environment);
        if (first !== undefined) begun = takeCopy(settings.dataDir, first.path);
      },
      direct: (warehouse, archive) => importHere({ settings, warehouse, archive, requests, begun, onDone }),
    });
  } finally {
    progress.end();
    await begun?.discard();
  }
}

interface Importing {
  readonly settings: Settings;
  readonly requests: readonly ImportRequest[];
  readonly onDone: (done: number) => void;
}

/** A running worker loads what comes to it together as one batch; more at once than it works on would only wait there. */
const ASKED_AT_ONCE = 16;

async function askWorker(client: Client, { settings, requests, onDone }: Importing) {
  const { requestImport } = await import('../../../workflows/client/writer-client.ts');
  const { inOrderOfInvoices } = await import('../../../warehouse/import/import-files.ts');
  let done = 0;
  return inOrderOfInvoices(requests, ASKED_AT_ONCE, async (request) => {
    const imported = await requestImport(client, settings, request);
    done += 1;
    onDone(done);
    return imported;
  });
}

interface Here extends Importing {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly begun: CopyBegun | undefined;
}

async function importHere(here: Here): Promise<readonly Imported[]> {
  const { settings, warehouse, archive, requests, begun, onDone } = here;
  const { importFiles } = await import('../../../warehouse/import/import-files.ts');
  const service = await openService(settings, archive);
  const { openQuarantine } = await import('../../../webhook/inbox/quarantine-folder.ts');
  const quarantine = await openQuarantine(join(settings.dataDir, 'quarantine'));
  const deps = { warehouse, archive, quarantine, dataDir: settings.dataDir, now: () => new Date(), onDone };
  const asking = service === null ? deps : { ...deps, lookUp: service.describe };
  try {
    const results = await importFiles(asking, requests, begun);
    if (requests.some(({ dryRun }) => dryRun !== true)) await warehouse.publish();
    return results;
  } finally {
    await service?.close();
  }
}

/** Its client is only read when there is a service to ask. */
async function openService(settings: Settings, archive: Archive) {
  if (settings.service.baseUrl === null) return null;
  const { createBillingService } = await import('../../../billing/client.ts');
  const { describeInvoice } = await import('../../../billing/describe-invoice.ts');
  const service = createBillingService({ settings, archive });
  return {
    describe: (invoiceId: string) => describeInvoice(service, invoiceId),
    close: () => service.close(),
  };
}
