import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import type { Settings } from '../config/settings.ts';
import type { Severity } from './alert-names.ts';

export interface Notice {
  readonly at: string;
  readonly state: 'raised' | 'resolved';
  readonly key: string;
  readonly severity: Severity | null;
  /** The host of the process that reports the alert. */
  readonly host: string;
  readonly title: string;
  readonly detail: string;
  readonly repeated: number;
  /** The address of the alert's section in the runbook, or the command that prints it. */
  readonly runbook: string;
}

export interface AlertChannel {
  /** Where notices go, without secrets: `posted to chat.example`. */
  readonly where: string;
  readonly send: (notice: Notice) => Promise<void>;
  /** Tries the connection without sending a notice. @throws the error that would prevent one */
  readonly test?: () => Promise<void>;
}

interface ChannelOptions {
  readonly settings: Pick<Settings, 'alerts' | 'environment'>;
  readonly post: (url: string, body: object) => Promise<void>;
}

type OpenChannel = (options: ChannelOptions) => AlertChannel | null;

const file: OpenChannel = ({ settings: { alerts } }) => {
  const { file: path } = alerts;
  if (path === null) return null;
  const append = (text: string) => appendFile(path, text, { mode: 0o600 });
  return {
    where: `appended to ${path} (BILLSYNC_ALERT_FILE)`,
    send: (notice) => append(`${JSON.stringify(notice)}\n`),
    async test() {
      const isNew = !existsSync(path);
      await append('');
      if (isNew) await rm(path, { force: true });
    },
  };
};

/** `{"text": …}` is what Slack, Mattermost, Rocket.Chat and Google Chat accept; Teams only Adaptive Cards. */
const chat: OpenChannel = ({ settings: { alerts, environment }, post }) => {
  const { webhookUrl: url } = alerts;
  if (url === null) return null;
  return {
    // Only the host is shown, because the path of a chat's webhook is a key.
    where: `posted to ${new URL(url).host}`,
    send(notice) {
      const text = messageOf(environment, notice);
      return post(url, isTeams(url) ? adaptiveCard(text) : { text });
    },
  };
};

function adaptiveCard(message: string): object {
  const body = message.split('\n').map((text, index) => ({
    ...{ type: 'TextBlock', text, wrap: true },
    ...(index === 0 ? { weight: 'Bolder' } : {}),
  }));
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    ...{ type: 'AdaptiveCard', version: '1.4', body },
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, content }] };
}

export function openChannels(options: ChannelOptions): readonly AlertChannel[] {
  return [file(options), chat(options)].filter((channel) => channel !== null);
}

/** Power Automate, its former address, and the connectors that Microsoft retires. */
const TEAMS_HOSTS = ['.api.powerplatform.com', '.logic.azure.com', '.webhook.office.com'];

export function isTeams(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return TEAMS_HOSTS.some((suffix) => host.endsWith(suffix));
}

export function messageOf(environment: string, notice: Notice): string {
  const { state, severity, host, title, detail, repeated, runbook } = notice;
  const from = [`billsync ${environment}`, severity ?? 'warning', withoutMarkup(host)].join(', ');
  const head = `[${from}] ${state === 'resolved' ? 'Resolved: ' : ''}${withoutMarkup(title)}`;
  const again = repeated > 0 ? ` (${repeated} more since the last notice)` : '';
  if (state === 'resolved') return head + again;
  return [head + again, withoutMarkup(detail), `What to do: ${runbook}`]
    .filter((line) => line !== '')
    .join('\n');
}

const LOOKALIKES: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '@': '＠' };

/**
 * Replaces the characters of markup, because chats escape differently: `<!channel>` or `[here](https://…)` in an invoice number
 * would notify everybody, or link to another site.
 */
function withoutMarkup(text: string): string {
  return text.replace(/[<>@]/g, (character) => LOOKALIKES[character] ?? character).replaceAll('](', '] (');
}

const SEND_TIMEOUT_MS = 10_000;
const MAX_ATTEMPTS = 3;

export async function postMessage(url: string, message: object, retryAfterMs: number): Promise<void> {
  const { request } = await import('undici');
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
      });
      await body.dump();
      if (statusCode < 300) return;
      throw new Error(`The alert webhook answered ${statusCode}.`);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
      await new Promise((wake) => setTimeout(wake, retryAfterMs));
    }
  }
}
