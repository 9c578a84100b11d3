/**
 * Has behind it, at the start, what every page needs beside its own figures: what the forms offer, what there is to
 * count, and the engine's first meeting with the code that draws. The first reader would wait for it otherwise.
 */

import { existsSync } from 'node:fs';
import { warmUpDrawing } from '../reports/render/charts.ts';
import { countedOf, type PageContext } from './page-context.ts';
import { choicesOf } from './pages/choices.ts';

/**
 * Never fails: what cannot be had now, a page asks for again and tells of. Before the first publication there is nothing to read
 * or to draw, and the first page is made ahead as soon as there is.
 */
export async function prepare(context: PageContext): Promise<void> {
  if (!existsSync(context.publishedPath)) return;
  await Promise.allSettled([choicesOf(context), countedOf(context), warmUpDrawing()]);
}
