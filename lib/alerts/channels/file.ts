/** Notices as lines of JSON, for whatever collects them (`BILLSYNC_ALERT_FILE`). */

import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import type { OpenChannel } from './channel.ts';

export const file: OpenChannel = ({ settings: { alerts } }) => {
  const { file: path } = alerts;
  if (path === null) return null;
  const append = (text: string) => appendFile(path, text, { mode: 0o600 });
  return {
    where: `appended to ${path} (BILLSYNC_ALERT_FILE)`,
    tell: (notice) => append(`${JSON.stringify(notice)}\n`),
    async tryOut() {
      const isNew = !existsSync(path);
      await append('');
      if (isNew) await rm(path, { force: true });
    },
  };
};
