/** Which part may import which, types included; part of `npm run check`. ARCHITECTURE.md has the same as a table. */

/** The interface of the workflows; these files may be imported where workflows may not. */
const MESSAGES = 'workflows/(messages|activities)[.]ts$';

/** Parts of the product and what each may import; every part may import `lib`. `types`: only their types. */
const PARTS = {
  lib: {},
  archive: {},
  billing: { types: ['archive'] },
  warehouse: { may: ['archive'] },
  reports: {},
  dashboard: { may: ['reports'] },
  finance: { may: ['reports'], types: ['dashboard'] },
  webhook: { may: ['archive', 'workflows/client'] },
  workflows: {},
  'workflows/client': { may: [MESSAGES], types: ['workflows'] },
  activities: { may: ['archive', 'billing', 'warehouse', 'workflows/client'], types: ['workflows'] },
  worker: {
    may: [
      ...['activities', 'archive', 'billing', 'finance', 'reports', 'warehouse', 'webhook/inbox'],
      ...['workflows/client', MESSAGES],
    ],
    types: ['workflows'],
  },
};

/** Every part of the product has rules above, but for `cli`, which may import all of them. */
const PRODUCT = `^(${[...Object.keys(PARTS), 'cli', 'sandbox', 'deploy'].join('|')})/`;
const folder = (part) =>
  part === MESSAGES ? part : part === 'workflows' ? 'workflows/(?!client/)' : `${part}/`;
const anyOf = (parts) => `^(${parts.map(folder).join('|')})`;

const partRules = Object.entries(PARTS).flatMap(([part, { may = [], types = [] }]) => [
  {
    name: `${part} imports only its parts`,
    severity: 'error',
    from: { path: anyOf([part]) },
    to: { path: PRODUCT, pathNot: anyOf([part, 'lib', ...may, ...types]) },
  },
  ...(types.length === 0
    ? []
    : [
        {
          name: `${part} imports types only of ${types.join(', ')}`,
          severity: 'error',
          from: { path: anyOf([part]) },
          to: { path: anyOf(types), pathNot: anyOf([part, ...may]), dependencyTypesNot: ['type-only'] },
        },
      ]),
]);

// biome-ignore lint/style/noDefaultExport: dependency-cruiser reads its rules from the default export.
export default {
  forbidden: [
    ...partRules,
    ...[
      {
        name: 'sandbox and deploy import nothing of ours',
        from: { path: '^(sandbox|deploy)/' },
        to: { path: PRODUCT, pathNot: '^$1/' },
      },
      {
        name: 'only cli uses the sandbox',
        from: { path: PRODUCT, pathNot: '^(cli|sandbox)/' },
        to: { path: '^sandbox/' },
      },
      {
        name: 'the model of the world imports nothing but itself and hashes',
        from: { path: '^test/world/(history|model/)' },
        to: { pathNot: '^(test/world/(history|model/)|crypto$)' },
      },
      {
        name: 'the product imports no test or script',
        from: { path: PRODUCT },
        to: { path: '^(test|scripts)/' },
      },
      {
        name: 'the product imports no package of development',
        from: { path: PRODUCT, pathNot: '^sandbox/conformance/' },
        to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
      },
      {
        name: 'the warehouse is entered by its contract',
        from: { pathNot: '^(warehouse|test|scripts)/' },
        to: { path: '^warehouse/(?!(import|lake)/)[^/]+/' },
      },
      {
        name: 'Temporal stays in workflows, activities, worker and lib/temporal',
        from: { path: PRODUCT, pathNot: '^(workflows|activities|worker|lib/temporal|cli)/' },
        to: { path: '@temporalio/' },
      },
      {
        name: 'workflow code imports only pure functions and types of lib',
        from: { path: anyOf(['workflows']) },
        to: { path: '^lib/(?!wire/|(errors|decimal|text|quarantine|warehouse-requests)\\.ts$)' },
      },
      {
        name: 'workflow code runs in a sandbox that has no client of Temporal',
        from: { path: anyOf(['workflows']) },
        to: { path: '@temporalio/(?!workflow/|common/)', dependencyTypesNot: ['type-only'] },
      },
      {
        name: 'workflow code runs in a sandbox that has no Node',
        from: { path: anyOf(['workflows']) },
        to: { dependencyTypes: ['core'] },
      },
      { name: 'no circles', from: {}, to: { circular: true } },
      {
        name: 'no circles between the folders of warehouse and sandbox',
        scope: 'folder',
        from: { path: '^(warehouse|sandbox)/' },
        to: { circular: true },
      },
      { name: 'every import is found', from: {}, to: { couldNotResolve: true } },
    ].map((rule) => ({ severity: 'error', ...rule })),
  ],
  options: {
    // TypeScript 7 has no API; swc reads imports of types too.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|data|[.]cache)/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
