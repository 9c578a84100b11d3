import { requireService } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { forwardOverdue } from '../../webhook/forwarder.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { type RunningWorker, startWorker } from '../../worker/start-worker.ts';
import { startAdminRole } from './admin-role.ts';
import { type RoleContext, type RunningRole, startParts } from './run-role.ts';

/** A worker without `up`: it has the pages too. */
export async function startWorkerAloneRole(context: RoleContext): Promise<RunningRole> {
  requireService(context.settings);
  return startParts(async (parts) => {
    const admin = await startAdminRole(context);
    parts.defer(() => admin.close());
    const worker = await startWorkerRole(context);
    parts.defer(() => worker.close());
    return { addresses: admin.addresses, close: () => parts.disposeAsync() };
  });
}

export async function startWorkerRole(context: RoleContext): Promise<RunningWorker> {
  const { settings, log } = context;
  const inbox = await openInbox(dataFolder(settings.dataDir).inbox);
  const quarantine = await openQuarantine(dataFolder(settings.dataDir).quarantine);
  const worker: RunningWorker = await startWorker({
    ...context,
    onFatal: context.fatal,
    forwardOverdue(options) {
      const partnerIds = () => (settings.partnerId === null ? worker.partnerIds() : [settings.partnerId]);
      return forwardOverdue({
        ...options,
        settings,
        inbox,
        archive: worker.archive,
        quarantine,
        partnerIds,
        log,
      });
    },
  });
  return worker;
}
