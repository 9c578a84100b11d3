/** Whether an alert would reach anybody, tried before one is raised at night. */

import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import type { Settings } from '../../config/settings.js';
import { systemErrorIn } from '../../config/system-error.js';
import { type Finding, note, ok } from './finding.js';

/** The chat is not posted to: a person would be told of nothing. */
export async function checkAlerts({ alerts }: Settings): Promise<Finding> {
  const { file, webhookUrl } = alerts;
  const chat = webhookUrl === null ? null : `posted to ${new URL(webhookUrl).host} (not tried)`;
  if (file === null && chat === null) {
    return note('they stand in the log only', 'set BILLSYNC_ALERT_FILE or BILLSYNC_ALERT_WEBHOOK_URL');
  }
  if (file === null) return ok(String(chat));
  const isNew = !existsSync(file);
  try {
    await appendFile(file, '', { mode: 0o600 });
    if (isNew) await rm(file, { force: true });
  } catch (error) {
    const { words = String(error), advice = null } = systemErrorIn(error) ?? {};
    return {
      result: 'failed',
      detail: `BILLSYNC_ALERT_FILE ${file} cannot be written: ${words}`,
      hint: advice,
    };
  }
  return ok([`appended to ${file}`, ...(chat === null ? [] : [chat])].join(', '));
}
