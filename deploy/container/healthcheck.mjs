/**
 * Is the process of this container alive? A container has a network of its own, so of the addresses that roles leave in the
 * shared data folder only its own answer on loopback.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(process.env.BILLSYNC_DATA_DIR ?? 'data', 'run');
const WITHIN_MS = 5_000;

/** Where roles that started with this folder say their probes are. */
function probes() {
  return readdirSync(folder)
    .filter((name) => /^(up|worker|webhook|dashboard)\.json$/.test(name))
    .flatMap((name) => {
      const { addresses } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      const address = addresses.dashboard ?? addresses.probes;
      return address === undefined ? [] : [onLoopback(address)];
    });
}

function onLoopback(address) {
  const url = new URL('/livez', address);
  if (['0.0.0.0', '[::]'].includes(url.hostname)) url.hostname = '127.0.0.1';
  return url;
}

async function answers(url) {
  return (await fetch(url, { signal: AbortSignal.timeout(WITHIN_MS) })).ok;
}

const answered = await Promise.any(probes().map(answers)).catch(() => false);
process.exitCode = answered ? 0 : 1;
