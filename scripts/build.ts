import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { writeBillOfMaterials } from './bill-of-materials.ts';
import { buildPackage } from './build-package.ts';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
await rm(dist, { recursive: true, force: true });
await buildPackage(dist);
await writeBillOfMaterials(dist);
process.stderr.write('built dist/\n');
