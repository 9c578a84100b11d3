import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** Licences that permit use, change and redistribution; any other needs a decision. */
export const ACCEPTED_LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'Apache-2.0 AND MIT',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-4.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
]);

/** Licences of packages whose package.json names none, from their LICENSE files. */
const LICENCES_READ_BY_HAND: Readonly<Record<string, string>> = {
  'png-js@2.0.0': 'MIT',
  'unionfs@4.6.0': 'Unlicense',
};

export interface Licensed {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

interface CycloneDx {
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
}

/**
 * npm's `--omit dev` also leaves out a package of ours that a development tool uses besides (yaml), so its mark for
 * development is read here.
 */
export async function billOfMaterials() {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const { stdout } = await run('npm', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  const bill = JSON.parse(stdout) as CycloneDx;
  const components = bill.components.filter(({ properties = [] }) => !properties.some(isForDevelopment));
  const kept = new Set(components.map((component) => component['bom-ref']));
  const dependencies = bill.dependencies
    .filter(({ ref }) => kept.has(ref) || ref === bill.metadata.component['bom-ref'])
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => kept.has(name)) }));
  const packages = components
    .map((component) => ({
      name: component.name,
      version: component.version,
      licence: licenceOf(component),
    }))
    .sort((a, b) => a.name.localeCompare(b.name) || a.version.localeCompare(b.version));
  return { text: `${JSON.stringify({ ...bill, components, dependencies }, null, 2)}\n`, packages };
}

function isForDevelopment({ name, value }: { readonly name: string; readonly value: string }): boolean {
  return name === 'cdx:npm:package:development' && value === 'true';
}

export async function writeBillOfMaterials(folder: string): Promise<void> {
  const { text, packages } = await billOfMaterials();
  await writeFile(join(folder, 'sbom.cdx.json'), text);
  const lines = packages.map(({ name, version, licence }) => `${name} ${version}: ${licence}\n`);
  await writeFile(join(folder, 'licences.txt'), lines.join(''));
}

function licenceOf({ name, version, licenses = [] }: Component): string {
  const named = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '');
  return named.join(' AND ') || (LICENCES_READ_BY_HAND[`${name}@${version}`] ?? 'none stated');
}
