/** Builds the program once before any test, so that no test pays for it or waits for another that does, unless TEST_BUILDS_ON_USE is set. */

import { builtProgram } from '../../../scripts/built-program.ts';

export async function setup(): Promise<void> {
  if (process.env.TEST_BUILDS_ON_USE === undefined) await builtProgram();
}
