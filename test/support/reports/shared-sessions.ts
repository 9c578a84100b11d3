/** One report session for each set of filters, however many reports are asked: preparing one costs more than most reports do. */

import type { ReportFilters } from '../../../reports/report-filters.ts';
import type { ReportResult } from '../../../reports/report-result.ts';
import { openReportSession, type ReportSession } from '../../../reports/report-session.ts';

export interface SharedSessions {
  ask(
    name: string,
    filters?: ReportFilters,
    parameters?: Readonly<Record<string, string>>,
  ): Promise<ReportResult>;
  close(): Promise<void>;
}

/** For a whole session, which here lasts as long as a test file. */
const TIME_LIMIT_MS = 600_000;

/** @param databasePath `reports.duckdb`; sessions see it as it is when the first report of their filters is asked */
export function sharedSessions(databasePath: string): SharedSessions {
  const opened = new Map<string, Promise<ReportSession>>();
  return {
    async ask(name, filters = {}, parameters = {}) {
      const key = JSON.stringify(filters);
      const session =
        opened.get(key) ?? openReportSession({ databasePath, filters, timeLimitMs: TIME_LIMIT_MS });
      opened.set(key, session);
      return (await session).run(name, parameters);
    },
    async close() {
      for (const session of opened.values()) (await session).close();
      opened.clear();
    },
  };
}
