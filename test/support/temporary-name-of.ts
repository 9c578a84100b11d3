/** The name that `temporaryName` gives in another process of this machine. */

import { basename } from 'node:path';
import { temporaryName } from '../../lib/files/files.ts';

/** @param unique 16 hexadecimal digits */
export function temporaryNameOf(pid: number, unique: string): string {
  const [host = ''] = basename(temporaryName('')).slice(1).split('-');
  return `.${host}-${pid}-${unique}.tmp`;
}
