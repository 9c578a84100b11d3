import { rm } from 'node:fs/promises';
import type { OperatorOptions } from '../../dashboard/operator/operator-work.ts';
import type { TracedShipment } from '../../dashboard/pages/shipment.ts';
import { startDashboard } from '../../dashboard/server.ts';
import { closePages } from '../../finance/closing/close-pages.ts';
import { openDisputes } from '../../finance/disputes/disputes.ts';
import { atRiskPages } from '../../finance/disputes/pages/at-risk-pages.ts';
import { disputePages } from '../../finance/disputes/pages/claim-pages.ts';
import { filePages } from '../../finance/given-files/file-pages.ts';
import { statementPages } from '../../finance/statements/page/statement-pages.ts';
import { durationMs } from '../../lib/config/setting-values.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { type Check, startChecks } from '../../lib/health/health.ts';
import { createScrub } from '../../lib/log/scrub.ts';
import type { Quarantine } from '../../lib/quarantine.ts';
import type { LakeSettings } from '../../warehouse/lake/catalog-address.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { auditLogOf } from '../audited-commands.ts';
import { explainPublished, factsOf } from '../explanation.ts';
import { publishedPath } from '../published.ts';
import type { RoleContext, RunningRole } from './run-role.ts';

export async function startAdminRole({
  settings,
  log,
  metrics,
  health,
  alerts,
  role,
}: RoleContext): Promise<RunningRole> {
  const quarantine = await openQuarantine(dataFolder(settings.dataDir).quarantine);
  const place = {
    ...{ databasePath: publishedPath(settings), dataDir: settings.dataDir },
    ...{ timeLimitMs: durationMs(settings.admin.pageTimeout), now: () => new Date() },
  };
  const disputes = openDisputes({ dataDir: settings.dataDir, databasePath: publishedPath(settings) });
  const dashboard = await startDashboard({
    settings,
    publishedPath: publishedPath(settings),
    health,
    metrics,
    log,
    alerts,
    scrub: createScrub(settings, { keepNumbers: true }),
    quarantine,
    explain: (trackingNumber) => explain(settings, trackingNumber),
    plugins: [
      closePages({ ...place, disputes }),
      statementPages(place),
      atRiskPages(disputes),
      disputePages(disputes),
      filePages(place),
    ],
    ...(settings.admin.operators.length === 0
      ? {}
      : { operator: await operatorOptions(settings, quarantine) }),
  });
  const checks = startChecks({ log, health, alerts });
  // A worker renews the file of views itself; a dashboard checks that some worker does.
  if (settings.warehouse.kind === 'ducklake' && role === 'dashboard')
    checks.add(publicationCheck(settings, settings.warehouse));
  const close = async (): Promise<void> => {
    await checks.close();
    await dashboard.close();
  };
  return { addresses: { dashboard: `${dashboard.url}/` }, close };
}

function publicationCheck(settings: Settings, lake: LakeSettings): Check {
  return {
    component: 'publications',
    everyMs: 2_000,
    async run() {
      const { noticePublication } = await import('../../warehouse/lake/lake-reader.ts');
      await noticePublication(publishedPath(settings), lake).catch(() => undefined);
    },
  };
}

async function explain(settings: Settings, trackingNumber: string): Promise<readonly TracedShipment[]> {
  const found = await explainPublished(settings, trackingNumber);
  return found.map((row) => ({ ...row, facts: factsOf(row) }));
}

async function operatorOptions(settings: Settings, quarantine: Quarantine): Promise<OperatorOptions> {
  const { createOperatorWork, uploadFolder } = await import('../operator/operator-work.ts');
  await rm(uploadFolder(settings), { recursive: true, force: true });
  return {
    work: createOperatorWork(settings, quarantine),
    audit: await auditLogOf(settings),
    uploadFolder: uploadFolder(settings),
    decode: (message) => decode(settings, message),
  };
}

async function decode(settings: Settings, message: unknown): Promise<object | null> {
  const [{ temporalTarget }, { decodeRemotePayloads, encryptionKeys }] = await Promise.all([
    import('../../lib/temporal/connect.ts'),
    import('../../lib/temporal/codec.ts'),
  ]);
  return decodeRemotePayloads(await encryptionKeys(settings, await temporalTarget(settings)), message);
}
