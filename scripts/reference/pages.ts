/** The pages of docs/reference, made from the code. */

import { commandsPage } from './commands-page.js';
import { exitCodesPage } from './exit-codes-page.js';
import { logsPage } from './logs-page.js';
import { metricsPage } from './metrics-page.js';
import { reportsPage } from './reports-page.js';
import { runbookPage } from './runbook-page.js';
import { settingsPage } from './settings-page.js';
import { tablesPage } from './tables-page.js';

/** Text by name of the file in docs/reference. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    'commands.md': await commandsPage(),
    'exit-codes.md': exitCodesPage(),
    'logs.md': logsPage(),
    'metrics.md': metricsPage(),
    'reports.md': await reportsPage(),
    'runbook.md': runbookPage(),
    'settings.md': settingsPage(),
    'tables.md': await tablesPage(),
  };
}
