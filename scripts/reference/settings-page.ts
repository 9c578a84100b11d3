/** docs/reference/settings.md, from the definitions that the settings are read by. */

import { SETTING_GROUPS } from '../../lib/config/setting-definitions.ts';
import { code, page, table } from './markdown.ts';

export function settingsPage(): string {
  const groups = SETTING_GROUPS.map(({ title, definitions }) => {
    const rows = definitions.map(({ variable, fileKey, default: text, defaultNote, meaning, secret }) => [
      code(variable),
      code(fileKey),
      defaultNote ?? (text === null ? '' : code(text)),
      secret ? `${meaning}. Secret: also as ${code(`${variable}_FILE`)}` : meaning,
    ]);
    return `## ${title}\n\n${table(['Variable', 'Key in the file', 'Default', 'Meaning'], rows)}`;
  });
  return page(
    'Settings',
    'Flags beat the environment, the environment beats the settings file (`--config FILE`, `BILLSYNC_CONFIG`, else ' +
      '`./billsync.yaml`), the file beats defaults. An unknown key is refused, and all problems are reported at once. ' +
      '`billsync config show` prints what is in force and where it came from; `billsync init` writes a commented file.',
    ...groups,
    '## Temporal\n\nTemporal’s own names (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_…`, ' +
      '`TEMPORAL_PROFILE`) are understood as its command line understands them. Without `TEMPORAL_ADDRESS`, billsync starts ' +
      'a development server of its own; see [production](../how-to/production.md).',
  );
}
