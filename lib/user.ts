/** The user who runs this process. A container may run under a user id that has no passwd entry and no home folder. */

import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';

/** For the audit log and for decisions; `uid 12345` where the user has no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.geteuid?.() ?? 'unknown'}`;
  }
}

/** The user's cache folder of billsync; below `/`, as container engines set HOME, where the user has no home folder. */
export function userCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(home(), '.cache'), 'billsync');
}

function home(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}
