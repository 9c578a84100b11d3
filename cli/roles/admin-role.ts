/** The admin port of a role: the dashboard with its pages, and `/livez`, `/readyz`, `/metrics` beside them. */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { durationMs } from '../../config/duration.js';
import type { Settings } from '../../config/settings.js';
import type { Quarantine } from '../../contract/quarantine.js';
import type { OperatorOptions } from '../../dashboard/operator/operator-work.js';
import { startDashboard } from '../../dashboard/server.js';
import type { TracedShipment } from '../../dashboard/shipments/shipment-page.js';
import { openDisputes } from '../../disputes/disputes.js';
import { disputePages } from '../../disputes/pages/pages.js';
import { openQuarantine } from '../../inbox/quarantine-folder.js';
import { createScrub } from '../../ops/scrub.js';
import { statementPages } from '../../statements/page/statement-pages.js';
import { sentFolder } from '../../statements/sent-statements.js';
import { auditFolder, auditLogOf } from '../audited-commands.js';
import { explainPublished, factsOf } from '../explained.js';
import { publishedPath } from '../published.js';
import type { RoleContext, RunningRole } from './run-role.js';

export async function startAdminRole({
  settings,
  log,
  metrics,
  health,
  alerts,
}: RoleContext): Promise<RunningRole> {
  const quarantine = await openQuarantine(join(settings.dataDir, 'quarantine'));
  const dashboard = await startDashboard({
    settings,
    publishedPath: publishedPath(settings),
    health,
    metrics,
    log,
    alerts,
    scrub: createScrub(settings, { keepFigures: true }),
    quarantine,
    explain: (trackingNumber) => explain(settings, trackingNumber),
    guests: [
      disputePages(openDisputes({ dataDir: settings.dataDir, databasePath: publishedPath(settings) })),
      statementPages({
        ...{ databasePath: publishedPath(settings), sentFolder: sentFolder(settings.dataDir) },
        ...{ timeLimitMs: durationMs(settings.admin.pageLimit ?? '20s'), now: () => new Date() },
      }),
    ],
    ...((settings.admin.operators ?? []).length === 0
      ? {}
      : { operator: await operatorOptions(settings, quarantine) }),
  });
  return { addresses: { dashboard: `${dashboard.url}/` }, close: () => dashboard.close() };
}

async function explain(settings: Settings, trackingNumber: string): Promise<readonly TracedShipment[]> {
  const found = await explainPublished(settings, trackingNumber);
  return found.map((row) => ({ ...row, facts: factsOf(row) }));
}

/** Nothing of it is loaded where nobody may act. */
async function operatorOptions(settings: Settings, quarantine: Quarantine): Promise<OperatorOptions> {
  const { createOperatorWork, uploadFolder } = await import('../operator/operator-work.js');
  // What an earlier life of the process had taken and nobody agreed to.
  await rm(uploadFolder(settings), { recursive: true, force: true });
  return {
    work: createOperatorWork(settings, quarantine),
    audit: await auditLogOf(settings),
    auditFolder: auditFolder(settings),
    uploadFolder: uploadFolder(settings),
    decode: (message) => decode(settings, message),
  };
}

async function decode(settings: Settings, message: unknown): Promise<object | null> {
  const [{ temporalTarget }, { encryptionKeys }, { decodeForTemporalsPages }] = await Promise.all([
    import('../../temporal/connect.js'),
    import('../../temporal/encryption-keys.js'),
    import('../../temporal/remote-codec.js'),
  ]);
  return decodeForTemporalsPages(await encryptionKeys(settings, await temporalTarget(settings)), message);
}
