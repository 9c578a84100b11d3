/** Each kind of data has its own stream, so that adding one changes no other. */
import { hash } from 'node:crypto';

export interface Random {
  below(limit: number): number;
  pick<T>(choices: readonly [T, ...T[]]): T;
}

type Part = string | number;

/** sfc32, seeded by a SHA-256 of the parts. */
export function randomFrom(...parts: Part[]): Random {
  const digest = digestOf(parts);
  let a = digest.readInt32LE(0);
  let b = digest.readInt32LE(4);
  let c = digest.readInt32LE(8);
  let counter = 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  const below = (limit: number): number => next() % limit;
  return {
    below,
    pick: <T>(choices: readonly [T, ...T[]]): T => choices[below(choices.length)] ?? choices[0],
  };
}

/** The id has the form of a random UUID (version 4), but follows from the parts. */
export function uuidFrom(...parts: Part[]): string {
  const hex = hash('sha256', JSON.stringify(parts), 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function fractionFrom(...parts: Part[]): number {
  return digestOf(parts).readUInt32BE(0) / 0x1_0000_0000;
}

/** @param length at most 32 bytes */
export function bytesFrom(length: number, ...parts: Part[]): Buffer {
  return digestOf(parts).subarray(0, length);
}

function digestOf(parts: readonly Part[]): Buffer {
  return hash('sha256', JSON.stringify(parts), 'buffer');
}
