/** Builds the program once before any test, so that no test pays for it or waits for another that does. */

import { builtProgram } from '../../../scripts/built-program.ts';

export async function setup(): Promise<void> {
  await builtProgram();
}
