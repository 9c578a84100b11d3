/** OSV publishes the advisories of GitHub and npm; `npm audit` needs its own registry. */

import { z } from 'zod';

export const OSV_URL = 'https://api.osv.dev/v1/querybatch';

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly isForDevelopment: boolean;
}

export interface Advisory extends LockedPackage {
  readonly id: string;
}

const MAX_QUERIES = 1_000;
const ANSWERS_WITHIN_MS = 30_000;

const Answer = z.object({
  results: z.array(z.object({ vulns: z.array(z.object({ id: z.string() })).optional() }).nullable()),
});

export function lockedPackages(lock: string): readonly LockedPackage[] {
  const { packages } = JSON.parse(lock) as {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>;
  };
  const found = new Map<string, LockedPackage>();
  for (const [path, { version, dev = false }] of Object.entries(packages)) {
    const name = path.split('node_modules/').at(-1) ?? '';
    if (path === '' || version === undefined) continue;
    const key = `${name}@${version}`;
    const isForDevelopment = dev && (found.get(key)?.isForDevelopment ?? true);
    found.set(key, { name, version, isForDevelopment });
  }
  return [...found.values()];
}

export async function advisoriesOf(
  packages: readonly LockedPackage[],
  url: string = OSV_URL,
): Promise<readonly Advisory[]> {
  const found: Advisory[] = [];
  for (let from = 0; from < packages.length; from += MAX_QUERIES) {
    const batch = packages.slice(from, from + MAX_QUERIES);
    const queries = batch.map(({ name, version }) => ({ package: { ecosystem: 'npm', name }, version }));
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ queries }),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    const { results } = Answer.parse(await response.json());
    if (results.length !== batch.length)
      throw new Error(`${url} answered ${results.length} of ${batch.length}`);
    for (const [at, result] of results.entries()) {
      const one = batch[at];
      if (one !== undefined) for (const { id } of result?.vulns ?? []) found.push({ ...one, id });
    }
  }
  return found;
}

export interface Compared {
  readonly lines: readonly string[];
  readonly inProduct: readonly Advisory[];
}

export async function compareWithAdvisories(
  lock: string,
  { accepted, url = OSV_URL }: { readonly accepted: readonly string[]; readonly url?: string },
): Promise<Compared> {
  const packages = lockedPackages(lock);
  try {
    const found = (await advisoriesOf(packages, url)).filter(({ id }) => !accepted.includes(id));
    const lines = found.map(
      ({ id, name, version, isForDevelopment }) =>
        `${id}: ${name} ${version}${isForDevelopment ? ' (development only)' : ''}`,
    );
    const summary = `${packages.length} packages compared with ${url}: ${found.length} advisories`;
    return { lines: [summary, ...lines], inProduct: found.filter((each) => !each.isForDevelopment) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
    const reason = `${error instanceof Error ? error.message : String(error)}${cause}`;
    return {
      lines: [`NOT COMPARED with any advisory list, ${packages.length} packages: ${reason}`],
      inProduct: [],
    };
  }
}
