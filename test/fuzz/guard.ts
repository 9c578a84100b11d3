/** Any text as an address: the guard never throws, and lets no form of an inside address pass. */

import { mayDial } from '../../billing/address-guard.ts';
import type { Random } from '../support/random.ts';
import type { FuzzRun } from './fuzz-targets.ts';

export const summary = 'addresses at the guard of the client';

export async function open(): Promise<FuzzRun> {
  return { play };
}

type Quad = readonly [number, number, number, number];

/** IPv4 addresses that are never allowed, and the IPv6 forms that can contain them. */
const FORBIDDEN: readonly Quad[] = [
  [169, 254, 169, 254],
  [100, 100, 100, 200],
  [0, 0, 0, 0],
  [255, 255, 255, 255],
  [224, 0, 0, 1],
];
const INSIDE: readonly Quad[] = [
  [127, 0, 0, 1],
  [10, 1, 2, 3],
  [192, 168, 0, 1],
  [172, 16, 0, 9],
];

function play(random: Random): void {
  if (random.chance(0.3)) {
    mayDial(noise(random), { allowPrivateHosts: random.chance(0.5) });
    return;
  }
  const isForbidden = random.chance(0.5);
  const carried = random.pick(isForbidden ? FORBIDDEN : INSIDE);
  const address = spelled(random, carried);
  if (mayDial(address, { allowPrivateHosts: false })) throw new Error(`${address} may be dialled.`);
  if (isForbidden && mayDial(address, { allowPrivateHosts: true })) {
    throw new Error(`${address} may be dialled where private hosts are allowed.`);
  }
}

function spelled(random: Random, [a, b, c, d]: Quad): string {
  const dotted = `${a}.${b}.${c}.${d}`;
  const hex = (one: number, two: number) => (one * 256 + two).toString(16);
  const last = random.chance(0.5) ? dotted : `${hex(a, b)}:${hex(c, d)}`;
  const any = () => Math.floor(random.between(0, 0xffff)).toString(16);
  const forms = [
    dotted,
    `::ffff:${last}`,
    `::${last}`,
    `0:0:0:0:0:0:${last}`,
    `64:ff9b::${last}`,
    `64:FF9B:0:0:0:0:${last}`,
    `2002:${hex(a, b)}:${hex(c, d)}::${any()}`,
    `2001:0:${any()}:${any()}:${any()}:${any()}:${hex(255 - a, 255 - b)}:${hex(255 - c, 255 - d)}`,
    `2606:4700:${any()}:${any()}:0:5efe:${last}`,
    `2606:4700:${any()}:${any()}:200:5efe:${last}`,
    `fe80::5efe:${last}`,
  ];
  const form = random.pick(forms);
  return random.chance(0.3) ? form.toUpperCase() : form;
}

function noise(random: Random): string {
  const length = Math.floor(random.between(0, 40));
  return Array.from({ length }, () => random.pick([...'0123456789abcdefABCDEFx:.%[]/ -g\ud800\0'])).join('');
}
