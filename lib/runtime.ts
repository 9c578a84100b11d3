import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { WriteStream } from 'node:tty';
import { fileURLToPath } from 'node:url';

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.geteuid?.() ?? 'unknown'}`;
  }
}

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

export function version(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path))
      return String((JSON.parse(readFileSync(path, 'utf8')) as { version: unknown }).version);
    if (folder === dirname(folder)) return 'unknown';
  }
}

export function hasColors(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && WriteStream.prototype.getColorDepth(process.env) > 1;
}
