/** Who listens at a port of this machine, for the message that says that it is taken. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** E.g. `process 4711 (node dist/cli/main.js up)`; null where it cannot be told: not Linux, or another user's. */
export function holderOf(port: number): string | null {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listeningSockets(table, port)));
  if (sockets.size === 0) return null;
  for (const pid of names('/proc').filter((name) => /^\d+$/.test(name))) {
    if (names(`/proc/${pid}/fd`).some((file) => sockets.has(linkOf(`/proc/${pid}/fd/${file}`)))) {
      const command = read(`/proc/${pid}/cmdline`).split('\0').join(' ').trim().slice(0, 120);
      return command === '' ? `process ${pid}` : `process ${pid} (${command})`;
    }
  }
  return null;
}

/** The kernel's table has a line per socket: slot, local address, remote address, state (0A listens), …, inode. */
function listeningSockets(table: string, port: number): readonly string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return read(`/proc/net/${table}`)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${hex}`) && fields[3] === '0A')
    .map((fields) => `socket:[${fields[9]}]`);
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
