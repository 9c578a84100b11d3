/**
 * The layout of the data folder. `archive/`, `inbox/`, `keys/` and `user/` are backed up; everything else can be made again, and `run/`
 * may be deleted while nothing runs.
 */

import { join } from 'node:path';

export interface DataFolder {
  readonly inbox: string;
  readonly quarantine: string;
  readonly keys: string;
  /** Claims against carriers. */
  readonly disputes: string;
  readonly claimWindows: string;
  readonly sentStatements: string;
  /** CSV files that reports join. */
  readonly reportFiles: string;
  readonly costRules: string;
  readonly savedViews: string;
  readonly audit: string;
  readonly run: string;
  /** Files in progress: downloads, copies, and what DuckDB writes when memory is short. */
  readonly temporary: string;
  /** The last publications. */
  readonly snapshots: string;
  readonly uploads: string;
  readonly loadAttempts: string;
  /** Copies of files from S3. */
  readonly archiveCache: string;
  readonly costFindings: string;
  /** Record of the embedded Temporal server. */
  readonly embeddedTemporal: string;
}

export function dataFolder(dataDir: string): DataFolder {
  const inUser = (name: string): string => join(dataDir, 'user', name);
  const inRun = (name: string): string => join(dataDir, 'run', name);
  return {
    inbox: join(dataDir, 'inbox'),
    quarantine: join(dataDir, 'inbox', 'quarantine'),
    keys: join(dataDir, 'keys'),
    disputes: inUser('disputes'),
    claimWindows: inUser('claim-windows.yaml'),
    sentStatements: inUser('sent-statements'),
    reportFiles: inUser('report-files'),
    costRules: inUser('cost-rules.yaml'),
    savedViews: inUser('saved-views.json'),
    audit: inUser('audit'),
    run: join(dataDir, 'run'),
    temporary: inRun('tmp'),
    snapshots: inRun('snapshots'),
    uploads: inRun('uploads'),
    loadAttempts: inRun('load-attempts'),
    archiveCache: inRun('archive-cache'),
    costFindings: inRun('cost-findings.json'),
    embeddedTemporal: inRun('temporal.json'),
  };
}

/** Warehouses that a rebuild moved away, beside the database, because a rename cannot leave a file system. */
export function asideFolder(folderOfDatabase: string): string {
  return join(folderOfDatabase, 'run', 'aside');
}
