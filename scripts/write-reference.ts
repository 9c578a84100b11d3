/** Writes docs/reference from the code; a test fails while the pages are not what this would write. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { referencePages } from './reference/pages.js';

const folder = join(import.meta.dirname, '..', 'docs', 'reference');
await mkdir(folder, { recursive: true });
for (const [name, text] of Object.entries(await referencePages())) await writeFile(join(folder, name), text);
