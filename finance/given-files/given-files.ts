/** Files that a person gives: tables for reports, rules, claim windows, heads of statements. Commands and pages use the same checks. */

import { createHash } from 'node:crypto';
import { EXIT, errorClass } from '../../lib/errors.ts';
import { createUserFile, USER_FILES, type UserStore } from '../../lib/user-store.ts';
import { EXTRA_TABLES, type ExtraTable, listReports } from '../../reports/catalogue.ts';
import { isReportError } from '../../reports/errors.ts';
import { openPublishedFile } from '../../reports/open-published-file.ts';
import { checkTable } from '../../reports/optional-tables.ts';
import { prepareSession } from '../../reports/prepare-session.ts';
import { plural } from '../../reports/render/labels.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import { COLUMNS } from '../../reports/table-columns.ts';
import { checkLogo, parseStatementHeads } from '../statements/statement-heads.ts';

class GivenFileError extends errorClass({
  'given-file-changed': {
    message: '%s is stored in version %s, not %s. Nothing was changed.',
    exitCode: EXIT.checkFailed,
    hint: 'compare the contents, then name the version that yours replaces',
  },
}) {}

export interface GivenFile {
  readonly path: string;
  /** The name of the file in the addresses of the pages. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** The template that a person can download; null when there is none. */
  readonly template: string | null;
  /** Returns sentences about a file that can be stored. @throws BillsyncError naming each wrong line */
  check(
    file: { readonly path: string; readonly bytes: Uint8Array },
    databasePath: string,
  ): Promise<readonly string[]>;
}

const TITLES: Readonly<Record<ExtraTable, string>> = {
  ...{ rates: 'Agreed rates', weights: 'Weight steps', costs: 'Own costs', accepted: 'Accepted differences' },
  ...{ payments: 'Payments', statements: "Carriers' statements", disputes: 'Disputed numbers' },
  ...{ budget: 'Budget', fx: 'Exchange rates' },
};

export const GIVEN_FILES: readonly GivenFile[] = [
  ...EXTRA_TABLES.map(table),
  {
    ...{ path: USER_FILES.claimWindows, name: 'claim-windows', title: 'Claim windows' },
    about: 'How long each carrier accepts a claim.',
    template: 'warn_days: 14\nwindows:\n  - carrier: "*"\n    days: 180\n    from: carrier-invoice-date\n',
    async check({ path, bytes }) {
      const { parseClaimWindows } = await import('../disputes/windows.ts');
      const { windows } = await parseClaimWindows({ path, text: String(Buffer.from(bytes)) });
      return [`${plural(windows.length, 'carrier')} with a claim window.`];
    },
  },
  {
    ...{ path: USER_FILES.costRules, name: 'cost-rules', title: 'Cost rules' },
    about: 'Which costs raise an alert.',
    template:
      'rules:\n  - name: spend-up\n    report: tenants\n    trailing: 4\n    when:\n      change_percent: { above: 20 }\n',
    async check({ path, bytes }) {
      const { parseCostRules } = await import('../cost-alerts/rules.ts');
      const rules = await parseCostRules({ path, text: String(Buffer.from(bytes)) });
      return [`It has ${plural(rules.length, 'rule')}.`];
    },
  },
  {
    ...{ path: USER_FILES.statementHeads, name: 'statement-heads', title: 'Heads of statements' },
    about: 'Your name and address, those of the tenants, and when statements are due.',
    template:
      'sender:\n  name: Example Ltd\n  address: |\n    1 Example Street\n    Example Town\ndue_days: 30\ntenants:\n  - tenant: Acme\n    address: |\n      2 Example Street\n      Example Town\n',
    async check({ path, bytes }) {
      const { tenants } = await parseStatementHeads({ path, text: String(Buffer.from(bytes)) });
      return [`${plural(tenants.length, 'tenant')} with an address or a due date.`];
    },
  },
  {
    ...{ path: USER_FILES.statementLogo, name: 'statement-logo', title: 'Logo of statements' },
    about: 'A JPEG at the head of the PDF.',
    template: null,
    check: ({ path, bytes }) => checkLogo(path, bytes),
  },
];

function table(name: ExtraTable): GivenFile {
  const reports = listReports().filter(({ sources }) => sources.includes(name));
  const columns = COLUMNS[name].map((column) => column.name);
  const example = reports.find(({ example }) => example?.files[name])?.example?.files[name];
  const rows = example?.rows.map((cells) =>
    columns.map((column) => cells[example.columns.indexOf(column)] ?? ''),
  );
  return {
    ...{ path: `${USER_FILES.reportFiles}/${name}.csv`, name, title: TITLES[name] },
    about: `Read by ${reports.map((report) => report.title).join('; ')}.`,
    template: `${[columns, ...(rows ?? [])].map((cells) => cells.join(',')).join('\n')}\n`,
    async check(csv, databasePath) {
      try {
        const file = await openPublishedFile(databasePath);
        try {
          await prepareSession(file, checkFilters({}));
          return [await checkTable(file, name, { ...csv, bytes: Buffer.from(csv.bytes) })];
        } finally {
          file.close();
        }
      } catch (error) {
        if (!isReportError(error, 'not-published')) throw error;
        return ['Nothing is published yet, so its rows are checked by the first report that reads them.'];
      }
    },
  };
}

/** The file that is replaced is kept under the instant of the replacement. @param bytes null removes the file */
export async function storeGivenFile(
  store: UserStore,
  path: string,
  bytes: Uint8Array | null,
  { replaces, now }: { readonly replaces: string; readonly now: Date },
): Promise<void> {
  const before = await store.read(path);
  requireVersion(path, before, replaces);
  if (before !== null) await createUserFile(store, `${replacedBelow(path)}${now.toISOString()}`, before);
  if (bytes === null) await store.remove(path);
  else
    await store.change(path, (found) => {
      requireVersion(path, found, replaces);
      return bytes;
    });
}

export const NO_VERSION = 'none';

export function versionOf(bytes: Uint8Array | null): string {
  return bytes === null ? NO_VERSION : createHash('sha256').update(bytes).digest('hex').slice(0, 12);
}

/** Otherwise the change of another person, perhaps on another machine, would be lost unseen. @throws given-file-changed */
function requireVersion(path: string, found: Uint8Array | null, replaces: string): void {
  const version = versionOf(found);
  if (version !== replaces) throw new GivenFileError('given-file-changed', [path, version, replaces]);
}

/** Lists earlier contents of a file by the instants of their replacement, the newest first. */
export async function replacedFiles(store: UserStore, path: string): Promise<readonly string[]> {
  const below = replacedBelow(path);
  return (await store.list(below)).map((each) => each.slice(below.length)).reverse();
}

export function replacedBelow(path: string): string {
  return `${USER_FILES.replaced}/${path}/`;
}
