/** Answers one question from the published file; what every other form of asking comes down to. */

import type { ReportResult } from './report-result.ts';
import { openReportSession, type SessionRequest } from './report-session.ts';

export interface ReportRequest extends SessionRequest {
  readonly name: string;
  /** Values of the report's own parameters, as typed. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/**
 * @throws ReportNotFoundError, ReportFilterError: what was asked cannot be answered
 * @throws NotPublishedError: there is no published file yet
 * @throws ReportInterruptedError: the time limit ran out
 */
export async function runReport({ name, parameters, ...request }: ReportRequest): Promise<ReportResult> {
  const session = await openReportSession(request);
  try {
    return await session.run(name, parameters);
  } finally {
    session.close();
  }
}
