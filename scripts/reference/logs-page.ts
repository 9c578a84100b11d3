/** docs/reference/logs.md, from the table of fields. */

import { COMMON_LOG_FIELDS, LOG_FIELDS } from '../../lib/log/log.ts';
import { code, page, table } from './markdown.ts';

export function logsPage(): string {
  const rows = (fields: Readonly<Record<string, string>>): string[][] =>
    Object.entries(fields).map(([name, meaning]) => [code(name), meaning]);
  return page(
    'Fields of the log',
    'A role writes one JSON object a line to stderr, unless stderr is a terminal (`LOG_FORMAT`). Secrets are taken out before ' +
      'anything is written. [Logs and traces](../install-logs.md) explains how to collect them.',
    'In every line:',
    table(['Field', 'Meaning'], rows(COMMON_LOG_FIELDS)),
    'In some lines:',
    table(['Field', 'Meaning'], rows(LOG_FIELDS)),
    'Lines of Temporal’s SDK also have its own fields: `sdkComponent`, `taskQueue`, `namespace`, `workflowType`, `workflowId`, `runId`, ' +
      '`activityType`, `activityId`, `attempt` and others. A `workflowId` is `invoice/ENVIRONMENT/PARTNER/INVOICE`.',
  );
}
