/**
 * Places of each kind that an operating system refuses, for real: a file that is not there, a folder in a file's place, one
 * without rights, below a file, a circle of links, a full disk, a read-only file system, no file more that may be opened.
 * The disks are mounted in a mount namespace of their own and gone with it; root's rights are given up, so that a mode of
 * 000 counts for root too.
 */

import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Play, Played } from './play-commands.ts';
import { BILLSYNC, cleanEnvironment } from './processes/billsync.ts';
import { testProgram } from './processes/test-program.ts';

const PLAYER = testProgram('support/play-commands.ts');

/** What is said of each place. */
export const WORDS = {
  missing: 'there is no such file or folder',
  folder: 'it is a folder',
  locked: 'this user may not read or write it',
  below: 'a part of its path is not a folder',
  circle: 'its symbolic links lead round in a circle',
  full: 'the disk is full',
  readonly: 'the file system is read-only',
  crowded: 'too many files are open at once',
} as const;
export type Refusal = keyof typeof WORDS;

/** `$1` is the folder that the places lie in. */
const MAKE = `set -eu
cd "$1"
mkdir folder sealed full readonly
touch file locked sealed/file
ln -s circle circle
mount -t tmpfs -o size=64k tmpfs full
mkdir -p full/data/archive
cat /dev/zero >full/zero 2>/dev/null || true
mount -t tmpfs -o size=64k tmpfs readonly
mkdir -p readonly/data/archive
mount -o remount,bind,ro readonly
chmod 000 locked sealed
shift
ulimit -n 256
exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"`;

/** Runs the commands where the places are. @param root an empty folder */
export async function playAmongRefusals(root: string, plays: readonly Play[]): Promise<readonly Played[]> {
  mkdirSync(root, { recursive: true });
  const [into, from] = [join(root, 'played.json'), join(root, 'plays.json')];
  writeFileSync(from, JSON.stringify(plays));
  const namespace = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  await promisify(execFile)(
    'unshare',
    [
      ...[...namespace, 'sh', '-c', MAKE, 'sh', root],
      ...['sh', '-c', 'exec "$@" <"$0"', from, process.execPath, PLAYER, BILLSYNC, into],
    ],
    { env: cleanEnvironment(), maxBuffer: 1 << 26 },
  );
  // So that the folder can be removed by a user who is not root.
  chmodSync(join(root, 'sealed'), 0o700);
  return JSON.parse(readFileSync(into, 'utf8')) as readonly Played[];
}
