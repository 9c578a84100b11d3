import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { messageOf, systemErrorIn, withPathInErrors } from '../system-errors.ts';
import { nearestNames } from './did-you-mean.ts';
import { COMPANION_VARIABLES, SETTING_DEFINITIONS, type SettingDefinition } from './setting-definitions.ts';
import { readBasicAuth, readHeaders, readUrlPath, type WebhookPath } from './setting-values.ts';
import type { SettingsProblem } from './settings.ts';

export interface SettingsSources {
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly terminal?: boolean;
}

export type Origin = 'flag' | 'environment' | 'file' | 'default';

/** `text` is null when the setting is unset. Secrets are not masked. */
export interface SettingOrigin {
  readonly definition: SettingDefinition;
  readonly text: string | null;
  readonly origin: Origin;
  readonly from: string;
  readonly folder: string;
}

export function unknownVariables(env: SettingsSources['env']): SettingsProblem[] {
  const known = new Set<string>(COMPANION_VARIABLES);
  for (const { variable, secret } of SETTING_DEFINITIONS) {
    known.add(variable);
    if (secret) known.add(`${variable}_FILE`);
  }
  return Object.keys(env)
    .filter((variable) => variable.startsWith('BILLSYNC_') && !known.has(variable))
    .sort()
    .map((variable) => {
      const [near] = nearestNames(variable, [...known]);
      return {
        setting: variable,
        message: `is not a setting${near === undefined ? '' : `; did you mean ${near}?`}`,
      };
    });
}

export interface Search {
  readonly sources: SettingsSources;
  readonly file: SettingsFile | null;
  readonly problems: SettingsProblem[];
}

export function findText(definition: SettingDefinition, { sources, file, problems }: Search): SettingOrigin {
  const { variable } = definition;
  const found = (origin: Origin, text: string | null, from: string, folder = sources.cwd) => ({
    ...{ definition, text, origin, from, folder },
  });
  const flag = sources.flags?.[variable];
  if (flag !== undefined && flag !== '') return found('flag', flag, `--setting ${variable}`);
  // An empty variable counts as unset, because shells and containers unset variables that way.
  const environment = { texts: new Map(Object.entries(sources.env)), folder: sources.cwd, label: '' };
  const places = [
    { origin: 'environment' as const, ...environment },
    ...(file === null ? [] : [{ origin: 'file' as const, ...file, label: ` in ${file.path}` }]),
  ];
  for (const { origin, texts, folder, label } of places) {
    // Programs accept proxy variables in lower case too, and some set only those.
    const inSmall = variable.endsWith('_PROXY') ? texts.get(variable.toLowerCase()) : undefined;
    const text = texts.get(variable) || inSmall || undefined;
    const secretPath = definition.secret ? texts.get(`${variable}_FILE`) || undefined : undefined;
    if (text !== undefined && secretPath !== undefined) {
      problems.push({ setting: `${variable}${label}`, message: `is given twice: also as ${variable}_FILE` });
    }
    if (text !== undefined)
      return found(origin, text, origin === 'file' ? (file?.path ?? '') : variable, folder);
    if (secretPath !== undefined) {
      const path = resolve(folder, secretPath);
      return found(origin, readSecret(definition, path, problems), path);
    }
  }
  return found('default', definition.default, 'default');
}

function readSecret(definition: SettingDefinition, path: string, problems: SettingsProblem[]): string | null {
  try {
    const text = withPathInErrors(path, () => readFileSync(path, 'utf8')).replace(/\r?\n$/, '');
    if (text !== '') return text;
    problems.push({ setting: `${definition.variable}_FILE`, message: `${path} is empty` });
  } catch (error) {
    problems.push({ setting: `${definition.variable}_FILE`, message: messageOf(error) });
  }
  return null;
}

export const DEFAULT_FILE_NAME = 'billsync.yaml';

export interface SettingsFile {
  readonly path: string;
  readonly folder: string;
  readonly texts: ReadonlyMap<string, string>;
  readonly webhookPaths: readonly WebhookPath[];
}

/** Loaded on demand, because a command without a settings file starts a third faster without them. */
const laterRequire = createRequire(import.meta.url);

export function findSettingsFile(options: {
  readonly named: string | undefined;
  readonly cwd: string;
}): string | null {
  if (options.named !== undefined) return resolve(options.cwd, options.named);
  const usual = resolve(options.cwd, DEFAULT_FILE_NAME);
  return existsSync(usual) ? usual : null;
}

export function readSettingsFile(path: string, problems: SettingsProblem[]): SettingsFile {
  const empty = { path, folder: dirname(path), texts: new Map<string, string>(), webhookPaths: [] };
  let source: string;
  try {
    source = readFileSync(path, 'utf8');
  } catch (error) {
    problems.push({
      setting: path,
      message: `cannot be read: ${systemErrorIn(error)?.problem ?? messageOf(error)}`,
    });
    return empty;
  }
  const { parseDocument } = laterRequire('yaml') as typeof import('yaml');
  // Warnings of the parser are off, because they go to stderr and quote the source.
  const document = parseDocument(source, { schema: 'failsafe', prettyErrors: true, logLevel: 'error' });
  const [syntaxError] = document.errors;
  if (syntaxError !== undefined) {
    const where = syntaxError.linePos?.[0];
    const line = where === undefined ? '' : ` at line ${where.line}, column ${where.col}`;
    // The parser's own message quotes the source, which may hold a secret.
    problems.push({ setting: path, message: `is not valid YAML${line} (${syntaxError.code})` });
    return empty;
  }
  let content: unknown;
  try {
    content = document.toJS();
  } catch {
    // The error quotes the alias name, which may be a password that begins with *.
    const message =
      'has an alias (*name) without an anchor, or too many; put a value that begins with * in quotes';
    problems.push({ setting: path, message });
    return empty;
  }
  if (content === null || content === '') return empty;
  if (typeof content !== 'object' || Array.isArray(content)) {
    problems.push({ setting: path, message: 'must be a mapping of settings, e.g. environment: test' });
    return empty;
  }
  return readMapping(empty, content, problems);
}

function readMapping(file: SettingsFile, content: object, problems: SettingsProblem[]): SettingsFile {
  const keys = fileKeys();
  const texts = new Map<string, string>();
  let webhookPaths: readonly WebhookPath[] = [];
  for (const [key, value] of Object.entries(content)) {
    if (key === 'webhook_paths') {
      webhookPaths = readWebhookPaths(value, file, problems);
      continue;
    }
    const variable = keys.get(key);
    if (variable === undefined) {
      const [near] = nearestNames(key, [...keys.keys()]);
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      problems.push({ setting: `${quotedKey(key)} in ${file.path}`, message: `is not a setting${hint}` });
      continue;
    }
    const text = textOf(value);
    if (text === null) {
      problems.push({ setting: `${key} in ${file.path}`, message: 'must be a text or a list of texts' });
    } else if (text !== '') {
      texts.set(variable, text);
    }
  }
  return { ...file, texts, webhookPaths };
}

/** An invalid key is not quoted, because a misplaced colon can make a secret part of it. */
function quotedKey(key: string): string {
  return /^[\w.-]{1,60}$/.test(key) ? key : 'a key that is not a name';
}

function fileKeys(): Map<string, string> {
  const keys = new Map<string, string>();
  for (const { fileKey, variable, secret } of SETTING_DEFINITIONS) {
    keys.set(fileKey, variable);
    if (secret) keys.set(`${fileKey}_file`, `${variable}_FILE`);
  }
  return keys;
}

function textOf(value: unknown): string | null {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((part) => typeof part === 'string')) {
    // A list of one text with a comma ends with a line end, which keeps it apart from a list in one line.
    const isOne = value.length === 1 && value[0]?.includes(',');
    return isOne ? `${value[0]}\n` : value.join('\n');
  }
  if (typeof value === 'object') {
    const lines = Object.entries(value).map(([name, part]) =>
      typeof part === 'string' ? `${name}: ${part}` : null,
    );
    return lines.includes(null) ? null : lines.join('\n');
  }
  return null;
}

function readWebhookPaths(
  value: unknown,
  file: SettingsFile,
  problems: SettingsProblem[],
): readonly WebhookPath[] {
  const setting = `webhook_paths in ${file.path}`;
  const { z } = laterRequire('zod') as typeof import('zod');
  const listOrText = z.union([z.string(), z.array(z.string())]);
  const Entry = z.strictObject({
    path: z.string(),
    basic_auth: listOrText.optional(),
    basic_auth_file: z.string().optional(),
    headers: z.union([listOrText, z.record(z.string(), z.string())]).optional(),
  });
  const parsed = z.array(Entry).safeParse(value);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      problems.push({ setting, message: `${issue.path.join('.') || 'value'}: ${issue.message}` });
    }
    return [];
  }
  return parsed.data.flatMap((entry) => {
    try {
      const basicAuth =
        entry.basic_auth_file === undefined
          ? (textOf(entry.basic_auth ?? '') ?? '')
          : readNamed(resolve(file.folder, entry.basic_auth_file)).trim();
      const headers = readHeaders(textOf(entry.headers ?? '') ?? '');
      return [
        { path: readUrlPath(entry.path), credentials: { basicAuth: readBasicAuth(basicAuth), headers } },
      ];
    } catch (error) {
      problems.push({ setting, message: `${entry.path}: ${messageOf(error)}` });
      return [];
    }
  });
}

function readNamed(path: string): string {
  return withPathInErrors(path, () => readFileSync(path, 'utf8'));
}
