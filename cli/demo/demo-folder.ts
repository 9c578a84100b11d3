/** Where the demo plays: a folder of its own, never one in which somebody else's invoices lie. */

import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CliError, EXIT } from '../errors.ts';

/**
 * @param wanted null: a fresh temporary folder
 * @throws CliError (exit 2) the folder is in use: the demo's invoices must never be added to others
 */
export function demoFolder(wanted: string | null): string {
  if (wanted === null) return mkdtempSync(join(tmpdir(), 'billsync-demo-'));
  const folder = resolve(wanted);
  if (existsSync(join(folder, 'environment')) && !existsSync(join(folder, 'sandbox'))) {
    throw new CliError(EXIT.usage, 'this data folder is in use, and not by a demo', {
      subject: folder,
      hint: 'name an empty folder with --data-dir, or unset BILLSYNC_DATA_DIR for a temporary one',
    });
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
