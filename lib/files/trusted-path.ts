/** A file that is found by its name alone decides where secrets are sent, so no other user may be able to have put it there. */

import { lstatSync, readFileSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
/** In a folder with this bit (`/tmp`) a user can neither remove nor replace what belongs to another. */
const STICKY = 0o1000;
const MAX_LINKS = 40;

/**
 * Examines every folder and link on the way. Returns null when only this user and root can change what is read there, or when
 * nothing is there.
 */
export function untrustedReason(path: string, links = 0): string | null {
  const whole = resolve(path);
  const parent = dirname(whole);
  const above = parent === whole ? null : untrustedReason(parent, links);
  const found = lstatSync(whole, { throwIfNoEntry: false });
  if (above !== null || found === undefined) return above;
  const reason = reasonOf(whole, found);
  if (reason !== null || !found.isSymbolicLink()) return reason;
  if (links === MAX_LINKS) return `${whole} is one of too many links`;
  return untrustedReason(resolve(realpathSync(parent), readlinkSync(whole)), links + 1);
}

function reasonOf(path: string, found: Stats): string | null {
  if (!isTrustedOwner(found.uid)) return `${path} belongs to ${userName(found.uid)}`;
  if (found.isSymbolicLink() || (found.mode & WRITABLE_BY_OTHERS) === 0) return null;
  if (found.isDirectory() && (found.mode & STICKY) !== 0) return null;
  const writers = (found.mode & 0o002) === 0 ? 'its group' : 'every user of this machine';
  return `${writers} may write to ${path} of ${userName(found.uid)}`;
}

export function isTrustedOwner(uid: number): boolean {
  return uid === 0 || uid === (process.geteuid?.() ?? uid);
}

export function userName(uid: number): string {
  try {
    const [name] =
      new RegExp(`^[^:\n]+(?=:[^:\n]*:${uid}:)`, 'm').exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
    return name === undefined ? `user ${uid}` : `${name} (user ${uid})`;
  } catch {
    return `user ${uid}`;
  }
}
