export class ReleaseRefusedError extends Error {
  override readonly name = 'ReleaseRefusedError';
}

/** The heading that an entry has until its release; the dash is an en dash. */
const unreleased = (version: string): string => `## ${version} – unreleased`;

const VERSION = /^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/;

export function releaseNotes(changelog: string, version: string): string {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line === `## ${version}` || line.startsWith(`## ${version} `));
  const next = lines.findIndex((line, index) => index > start && line.startsWith('## '));
  const notes = lines
    .slice(start + 1, next < 0 ? undefined : next)
    .join('\n')
    .trim();
  if (start < 0) {
    throw new ReleaseRefusedError(
      `CHANGELOG.md has no entry "## ${version}". Write it above the newest one, and commit it:\n\n` +
        `${unreleased(version)}\n\n- what users notice, a line each\n`,
    );
  }
  if (notes === '') {
    throw new ReleaseRefusedError(
      `The entry "${lines[start]}" of CHANGELOG.md is empty: write what users notice below it, and commit it.`,
    );
  }
  return notes;
}

export function datedChangelog(changelog: string, version: string, date: string): string {
  if (!VERSION.test(version)) {
    throw new ReleaseRefusedError(
      version === ''
        ? 'Which version? For instance: npm run release -- 0.2.0'
        : `"${version}" is not a version such as 0.2.0.`,
    );
  }
  releaseNotes(changelog, version);
  const heading = unreleased(version);
  if (!changelog.includes(`${heading}\n`)) {
    throw new ReleaseRefusedError(
      `${version} was released already: CHANGELOG.md has no heading "${heading}". Take the next version.`,
    );
  }
  return changelog.replace(`${heading}\n`, `## ${version} – ${date}\n`);
}

export function checkTag(options: {
  readonly tag: string;
  readonly packageVersion: string;
  readonly changelog: string;
}): void {
  const { tag, packageVersion, changelog } = options;
  if (tag !== `v${packageVersion}`) {
    throw new ReleaseRefusedError(`The tag ${tag} is not v${packageVersion}, the version of package.json.`);
  }
  releaseNotes(changelog, packageVersion);
  if (changelog.includes(unreleased(packageVersion))) {
    throw new ReleaseRefusedError(
      `CHANGELOG.md calls ${packageVersion} unreleased: \`npm run release -- ${packageVersion}\` dates it and tags it.`,
    );
  }
}
