/** The settings file as `billsync init` writes it. */

import { SETTING_DEFINITIONS, type SettingDefinition } from './setting-definitions.ts';

/** A settings file in which everything is explained and nothing secret is invited. */
export function settingsFileTemplate(given: ReadonlyMap<string, string>): string {
  const lines = [
    '# Settings of billsync. Flags beat environment variables, those beat this file, this file beats defaults.',
    '# Every secret may lie in a file of its own (key_file: path): then this file can be shown to anybody.',
    '# `billsync config show` tells what is in effect and where it came from.',
  ];
  let group = '';
  for (const definition of SETTING_DEFINITIONS) {
    if (definition.group !== group) lines.push('', `# ${GROUP_TITLES[definition.group]}`);
    group = definition.group;
    lines.push(`# ${definition.meaning}${defaultNote(definition)}`, settingLine(definition, given));
  }
  lines.push(
    '',
    '# Paths below webhook_path with credentials of their own, e.g. one for each event type or tenant:',
    '# webhook_paths:',
    '#   - path: /webhooks/billing/voids',
    '#     basic_auth_file: secrets/voids-basic-auth',
  );
  return `${lines.join('\n')}\n`;
}

function settingLine(definition: SettingDefinition, given: ReadonlyMap<string, string>): string {
  const value = given.get(definition.variable);
  if (value !== undefined && !definition.secret) return `${definition.fileKey}: ${JSON.stringify(value)}`;
  if (definition.secret)
    return `# ${definition.fileKey}_file: secrets/${definition.fileKey.replaceAll('_', '-')}`;
  return `# ${definition.fileKey}: ${definition.default ?? ''}`.trimEnd();
}

function defaultNote(definition: SettingDefinition): string {
  return definition.defaultNote === undefined ? '' : ` (when unset: ${definition.defaultNote})`;
}

const GROUP_TITLES: Readonly<Record<SettingDefinition['group'], string>> = {
  where: 'Where and for whom',
  service: 'The billing service',
  webhook: 'The webhook endpoint',
  admin: 'Health, metrics, dashboard',
  time: 'Patience',
  storage: 'Storage and encryption',
  alerts: 'Alerts',
  log: 'Logs and traces',
};
