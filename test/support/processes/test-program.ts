/** Programs of ours that tests start as processes: built with the product, since compiling both at each start costs more than most do. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BILLSYNC } from './billsync.ts';

/**
 * @param source below `test/` or beside it, one of those that `tsconfig.test-programs.json` lists
 * @returns path to give to Node, with `cleanEnvironment()` where it needs what set-up brought (extensions, Temporal)
 */
export function testProgram(source: string): string {
  const path = join(dirname(BILLSYNC), '../dist/test', source.replace(/\.ts$/, '.js'));
  if (!existsSync(path))
    throw new Error(`${source} was not built: tsconfig.test-programs.json has to list it.`);
  return path;
}
