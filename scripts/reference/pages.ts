/** The pages of docs/reference, made from the code. */

import { commandsPage } from './commands-page.ts';
import { exitCodesPage } from './exit-codes-page.ts';
import { logsPage } from './logs-page.ts';
import { metricsPage } from './metrics-page.ts';
import { reportsPage } from './reports-page.ts';
import { runbookPage } from './runbook-page.ts';
import { settingsPage } from './settings-page.ts';
import { tablesPage } from './tables-page.ts';

/** Text by name of the file in docs/reference. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    'commands.md': await commandsPage(),
    'exit-codes.md': exitCodesPage(),
    'logs.md': logsPage(),
    'metrics.md': metricsPage(),
    'reports.md': reportsPage(),
    'runbook.md': runbookPage(),
    'settings.md': settingsPage(),
    'tables.md': await tablesPage(),
  };
}
