/** Holds the import rules of ARCHITECTURE.md, so that a shortcut between parts is a failing test, not a habit. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The interface of the workflows for other parts; these files import nothing that must not leave the workflow sandbox. */
const WORKFLOW_INTERFACE = ['workflows/messages', 'workflows/activities'] as const;

/** Which parts a part may import. `type:` means types only; `part/file` means that file only. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  archive: ['lib'],
  billing: ['lib', 'type:archive'],
  warehouse: ['lib', 'archive'],
  workflows: ['lib/wire/names', 'lib/wire/service-errors', 'type:lib', 'type:warehouse', 'type:billing'],
  'workflows/client': ['lib', ...WORKFLOW_INTERFACE, 'type:workflows', 'type:warehouse'],
  activities: [
    'lib',
    'archive',
    'webhook',
    'billing',
    'warehouse',
    'workflows/client',
    ...WORKFLOW_INTERFACE,
    'type:workflows',
  ],
  worker: [
    'lib',
    'archive',
    'webhook',
    'billing',
    'warehouse',
    'workflows/client',
    'activities',
    ...WORKFLOW_INTERFACE,
    'reports',
    'finance',
  ],
  webhook: ['lib', 'archive', 'workflows/client'],
  reports: ['lib'],
  dashboard: ['lib', 'reports'],
  finance: ['lib', 'reports', 'type:dashboard'],
  sandbox: [],
  deploy: [],
};

/**
 * The subfolders of the warehouse, in the order of their imports: one uses only those that stand before it. `errors`,
 * `warehouse` (the contract) and `opening` are files of types and errors beside the subfolders.
 */
const WAREHOUSE_FOLDERS: readonly string[] = [
  'paths',
  'warehouse',
  'opening',
  'errors',
  'data-folder',
  'disk-space',
  'duckdb',
  'schema-number',
  'ledger',
  'csv',
  'load',
  'import',
  'publish',
  'recover',
  'verify',
  'retention',
  'store',
  'lake',
  'trace',
  'open-warehouse',
  'rebuild-warehouse',
];

/** What the rest of billsync may use of the warehouse. */
const WAREHOUSE_DOORS: readonly string[] = [
  'warehouse',
  'opening',
  'errors',
  'paths',
  'data-folder',
  'open-warehouse',
  'rebuild-warehouse',
  'import/import-file',
  'import/import-files',
  'import/refused-files',
  'import/take-copy',
  'trace/rehearse-decision',
  'lake/check-lake',
  'lake/lake-reader',
  'lake/lake-source',
  'publish/publish',
  'publish/publisher',
  'trace/explain',
  'trace/version-diff',
];

interface Import {
  readonly file: string;
  readonly specifier: string;
  readonly isTypeOnly: boolean;
}

const sources = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.mjs'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter((file) => file !== '');

const partOf = (file: string): string =>
  file.startsWith('workflows/client/') ? 'workflows/client' : (file.split('/')[0] ?? '');

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found: Import[] = [];
  const statement = /^\s*(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?['"]([^'"]+)['"]/gm;
  for (const [, typeOnly, specifier] of text.matchAll(statement)) {
    found.push({ file, specifier: specifier ?? '', isTypeOnly: typeOnly !== undefined });
  }
  for (const [, specifier] of text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)) {
    found.push({ file, specifier: specifier ?? '', isTypeOnly: false });
  }
  return found;
}

/** The file of ours that an import means, without its ending; null for libraries and built-ins. */
function target(imported: Import): string | null {
  if (!imported.specifier.startsWith('.')) {
    return null;
  }
  return normalize(join(dirname(imported.file), imported.specifier)).replace(/\.(js|ts|mjs)$/, '');
}

function isAllowed(imported: Import, to: string, rules: readonly string[]): boolean {
  const part = partOf(to);
  return rules.some(
    (rule) => rule === part || rule === to || (imported.isTypeOnly && rule === `type:${part}`),
  );
}

/** Parts of a folder: each subfolder is one, and so is each file beside the subfolders. */
const WITH_ROOMS = ['sandbox', 'warehouse'];

function folderOf(file: string): string {
  return file.replace(/\.ts$/, '').split('/').slice(0, 2).join('/');
}

/** The parts of one circle, in the order of their imports; empty when there is none. */
function circleIn(wanted: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const done = new Set<string>();
  const walk = (part: string, path: readonly string[]): readonly string[] => {
    if (path.includes(part)) return [...path.slice(path.indexOf(part)), part];
    if (done.has(part)) return [];
    for (const next of wanted.get(part) ?? []) {
      const circle = walk(next, [...path, part]);
      if (circle.length > 0) return circle;
    }
    done.add(part);
    return [];
  };
  for (const part of wanted.keys()) {
    const circle = walk(part, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

const imports = sources.flatMap(importsOf);

describe('architecture', () => {
  test('the sources were found', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(imports.length).toBeGreaterThan(50);
  });

  test('a part imports only the parts that ARCHITECTURE.md allows', () => {
    const broken: string[] = [];
    for (const imported of imports) {
      const from = partOf(imported.file);
      const to = target(imported);
      const rules = MAY_IMPORT[from];
      if (to === null || rules === undefined || partOf(to) === from) {
        continue;
      }
      if (!isAllowed(imported, to, rules)) {
        broken.push(`${imported.file} imports ${imported.isTypeOnly ? 'types of ' : ''}${to}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test('only cli, scripts and tests import cli, and nobody imports worker but cli, scripts and tests', () => {
    const broken = imports.filter((imported) => {
      const to = partOf(target(imported) ?? '');
      const from = partOf(imported.file);
      return ['cli', 'worker'].includes(to) && from !== to && !['cli', 'scripts', 'test'].includes(from);
    });
    expect(broken).toEqual([]);
  });

  test('ARCHITECTURE.md has a line for every part', () => {
    const map = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const parts = new Set(sources.filter((file) => file.includes('/')).map(partOf));
    expect([...parts].filter((part) => !map.includes(`| \`${part}/\``))).toEqual([]);
  });

  test('the sandbox imports nothing of ours', () => {
    const broken = imports.filter((imported) => {
      const to = target(imported);
      return partOf(imported.file) === 'sandbox' && to !== null && partOf(to) !== 'sandbox';
    });
    expect(broken).toEqual([]);
  });

  test.each(WITH_ROOMS)(
    'no import leads round in a circle between the parts of %s, types included',
    (part) => {
      const wanted = new Map<string, Set<string>>();
      for (const imported of imports) {
        const to = target(imported);
        if (to === null || partOf(imported.file) !== part || partOf(to) !== part) continue;
        const [from, other] = [folderOf(imported.file), folderOf(to)];
        if (from !== other) wanted.set(from, (wanted.get(from) ?? new Set()).add(other));
      }
      expect(wanted.size).toBeGreaterThan(5);
      expect(circleIn(wanted)).toEqual([]);
    },
  );

  test('a part of the warehouse uses only parts that stand before it', () => {
    const place = (file: string): number =>
      WAREHOUSE_FOLDERS.indexOf(folderOf(file).replace('warehouse/', ''));
    const broken: string[] = [];
    for (const imported of imports) {
      const to = target(imported);
      if (to === null || partOf(imported.file) !== 'warehouse' || partOf(to) !== 'warehouse') continue;
      const [from, other] = [place(imported.file), place(to)];
      if (from < 0 || other < 0 || other > from) broken.push(`${imported.file} imports ${to}`);
    }
    expect(broken).toEqual([]);
  });

  test('the rest of billsync enters the warehouse by its doors', () => {
    const broken: string[] = [];
    for (const imported of imports) {
      const to = target(imported);
      const from = partOf(imported.file);
      if (to === null || partOf(to) !== 'warehouse' || ['warehouse', 'test', 'scripts'].includes(from))
        continue;
      if (!WAREHOUSE_DOORS.includes(to.replace('warehouse/', '')))
        broken.push(`${imported.file} imports ${to}`);
    }
    expect(broken).toEqual([]);
  });

  test('workflow code reaches no Node built-in and no other Temporal package than workflow and common', () => {
    const broken = imports.filter(
      (imported) =>
        partOf(imported.file) === 'workflows' &&
        !imported.isTypeOnly &&
        (imported.specifier.startsWith('node:') ||
          /^@temporalio\/(?!workflow$|common$|common\/lib\/time\.js$)/.test(imported.specifier)),
    );
    expect(broken).toEqual([]);
  });

  test('only activities/failures builds ApplicationFailure outside workflow code', () => {
    const broken = sources.filter(
      (file) =>
        !['workflows', 'test'].includes(partOf(file)) &&
        file !== 'activities/failures.ts' &&
        /\bApplicationFailure\.(create|retryable|nonRetryable)\b|new ApplicationFailure\b/.test(
          readFileSync(join(root, file), 'utf8'),
        ),
    );
    expect(broken).toEqual([]);
  });

  test('SQL longer than a line lives in .sql files', () => {
    const broken = sources.filter(
      (file) =>
        partOf(file) !== 'test' &&
        /`[^`\n]*\b(select|insert|create|update|delete)\b[^`\n]*\n[^`]*\b(from|into|table|set|where)\b[^`]*`/.test(
          readFileSync(join(root, file), 'utf8'),
        ),
    );
    expect(broken).toEqual([]);
  });

  test('the lock file names no host', () => {
    expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved": "http/);
  });

  test('no package is installed at run time that nothing shipped imports', () => {
    const { exclude } = JSON.parse(readFileSync(join(root, 'tsconfig.build.json'), 'utf8')) as {
      exclude: readonly string[];
    };
    const used = new Set(
      imports
        .filter(({ file }) => !exclude.some((folder) => file.startsWith(`${folder}/`)))
        .map(({ specifier }) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ''),
    );
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    // Both are there for their one copy, which other packages take their own from (protobufjs, the OpenTelemetry API).
    const shared = ['protobufjs', '@opentelemetry/api'];
    // Files and no code: the fonts of statements on paper. And a library without types, which is required.
    const read = ['@fontsource/arimo', 'fontkit'];
    expect(
      Object.keys(dependencies).filter((name) => !used.has(name) && ![...shared, ...read].includes(name)),
    ).toEqual([]);
  });

  test('every dependency is pinned to one exact version', () => {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ) as {
      dependencies: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(loose).toEqual([]);
  });

  test('no test is left out or singled out', () => {
    const marks = new RegExp(`\\.(${['skip', 'only', 'todo', 'fails'].join('|')})\\(`);
    const broken = sources.filter(
      (file) => file.endsWith('.test.ts') && marks.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(broken).toEqual([]);
  });
});
