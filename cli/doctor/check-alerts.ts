/** Whether an alert would reach anybody, tried before one is raised at night. */

import { openChannels } from '../../lib/alerts/channels.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { systemErrorIn } from '../../lib/system-errors.ts';
import { type Finding, note, ok } from './finding.ts';

/** The settings that open a channel. */
const OPENING = SETTING_DEFINITIONS.filter(
  ({ variable, default: usual }) => variable.startsWith('BILLSYNC_ALERT_') && usual === null,
);

/** No chat is posted to: a person would be told of nothing. */
export async function checkAlerts(settings: Settings): Promise<Finding> {
  const channels = openChannels({ settings, post: async () => {} });
  if (channels.length === 0) {
    return note('they stand in the log only', `set ${OPENING.map(({ variable }) => variable).join(' or ')}`);
  }
  for (const { where, tryOut } of channels) {
    try {
      await tryOut?.();
    } catch (error) {
      const { words = String(error), advice = null } = systemErrorIn(error) ?? {};
      return { result: 'failed', detail: `alerts cannot be ${where}: ${words}`, hint: advice };
    }
  }
  return ok(channels.map(({ where, tryOut }) => (tryOut ? where : `${where} (not tried)`)).join(', '));
}
