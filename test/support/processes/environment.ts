/**
 * The environment of a test file: chosen by the hash of the file's name, so that a run can be repeated and the files together
 * meet all of them. TEST_ENVIRONMENT=n shifts each choice.
 */

import { createHash } from 'node:crypto';

const TIME_ZONES = ['UTC', 'America/Los_Angeles', 'Asia/Kolkata', 'Pacific/Auckland'];
const LOCALES = ['en_US.UTF-8', 'de_DE.UTF-8', 'tr_TR.UTF-8', 'C'];
/** Without "?", which the product refuses in the path of a data folder. */
const FOLDERS = ['plain', 'a b', 'a#b', '100%25', 'zażółć 中'];
const UMASKS = [0o022, 0o002, 0o077, 0o027];
const TERMINALS = [
  { TERM: 'xterm-256color', COLUMNS: null, CI: null },
  { TERM: 'dumb', COLUMNS: null, CI: 'true' },
  { TERM: null, COLUMNS: '40', CI: null },
];
const NAMES = ['__proto__', 'No\u00a0Break', '\u200fשלום\u200f', '=1+1', 'ab'.repeat(100)];

/** @param file path below the root of the checkout */
export function environmentOf(file: string) {
  const hash = createHash('sha256').update(file).digest();
  const shift = Number(process.env.TEST_ENVIRONMENT ?? 0);
  let at = 0;
  const choose = <T>(choices: readonly T[]): T => {
    const chosen = choices[((hash[at++] ?? 0) + shift) % choices.length];
    if (chosen === undefined) throw new RangeError('No choices.');
    return chosen;
  };
  const locale = choose(LOCALES);
  return {
    variables: {
      TZ: choose(TIME_ZONES),
      ...{ LANG: locale, LC_ALL: locale },
      ...choose(TERMINALS),
      TEST_NAME: choose(NAMES),
    },
    folder: choose(FOLDERS),
    umask: choose(UMASKS),
  };
}

/** The name for generated data that the environment of the test file chooses, or a plain one outside of a test. */
export function testName(): string {
  return process.env.TEST_NAME ?? 'Plain';
}
