/** Notices as lines of JSON, for whatever collects them (`BILLSYNC_ALERT_FILE`). */

import { appendFile } from 'node:fs/promises';
import type { OpenChannel } from './channel.js';

export const file: OpenChannel = ({ settings: { alerts } }) => {
  const { file: path } = alerts;
  return path === null ? null : (notice) => appendFile(path, `${JSON.stringify(notice)}\n`, { mode: 0o600 });
};
