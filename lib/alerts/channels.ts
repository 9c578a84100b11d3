/** What every way to tell a person has in common; `channels.ts` lists them. */

import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import type { Settings } from '../config/settings.ts';

/** What is told, secrets taken out. */
export interface Notice {
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly state: 'raised' | 'resolved';
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  /** How often it was raised since the last notice of it. */
  readonly repeated: number;
  /** Where it stands what to do: an address with BILLSYNC_RUNBOOK_URL, else a command. */
  readonly runbook: string;
}

export interface AlertChannel {
  /** What happens to a notice, for people, without what is secret of an address: `posted to chat.example`. */
  readonly where: string;
  /** @throws whatever kept the notice from being delivered; it is logged */
  readonly tell: (notice: Notice) => Promise<void>;
  /**
   * Tries whether a notice would arrive, without telling anybody, for `billsync doctor`; missing where that cannot be.
   * @throws what would keep it
   */
  readonly tryOut?: () => Promise<void>;
}

export interface ChannelOptions {
  readonly settings: Pick<Settings, 'alerts' | 'environment'>;
  /** Posts JSON; tried again a few times before it gives up. */
  readonly post: (url: string, body: object) => Promise<void>;
}

/** null when the settings do not ask for this channel. */
export type OpenChannel = (options: ChannelOptions) => AlertChannel | null;

/** A channel that posts to an address, of which only the host is shown: the rest may be a key. */
export function posting(url: string, tell: AlertChannel['tell']): AlertChannel {
  return { where: `posted to ${new URL(url).host}`, tell };
}

/** A notice as one message of a chat. */
export function messageOf(environment: string, { state, title, detail, repeated, runbook }: Notice): string {
  const head = `[billsync ${environment}] ${state === 'resolved' ? 'Resolved: ' : ''}${unmarked(title)}`;
  const again = repeated > 0 ? ` (${repeated} more since the last notice)` : '';
  if (state === 'resolved') return head + again;
  return [head + again, unmarked(detail), `What to do: ${runbook}`].filter((line) => line !== '').join('\n');
}

const LOOKALIKES: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '@': '＠' };

/**
 * Text that no chat takes for markup: a notice repeats words of the service, and `<!channel>` or `[here](https://…)` in an
 * invoice's number would call everybody, or lead them to another site under our name. Chats escape differently, so what
 * begins markup is replaced by what looks like it.
 */
function unmarked(text: string): string {
  return text.replace(/[<>@]/g, (mark) => LOOKALIKES[mark] ?? mark).replaceAll('](', '] (');
}

const SEND_TIMEOUT_MS = 10_000;
const TRIES = 3;

/** @throws whatever the last try failed with */
export async function postMessage(url: string, message: object, retryAfterMs: number): Promise<void> {
  // Most processes have nothing to say, and nowhere to say it.
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
      if (attempt === TRIES) throw error;
      await new Promise((wake) => setTimeout(wake, retryAfterMs));
    }
  }
}

export const file: OpenChannel = ({ settings: { alerts } }) => {
  const { file: path } = alerts;
  if (path === null) return null;
  const append = (text: string) => appendFile(path, text, { mode: 0o600 });
  return {
    where: `appended to ${path} (BILLSYNC_ALERT_FILE)`,
    tell: (notice) => append(`${JSON.stringify(notice)}\n`),
    async tryOut() {
      const isNew = !existsSync(path);
      await append('');
      if (isNew) await rm(path, { force: true });
    },
  };
};

export const chat: OpenChannel = ({ settings: { alerts, environment }, post }) => {
  const { webhookUrl: url } = alerts;
  return url === null || isTeams(url)
    ? null
    : posting(url, (notice) => post(url, { text: messageOf(environment, notice) }));
};

/** Where Teams has its webhooks: Power Automate, its older address, and the connectors that are being retired. */
const HOSTS = ['.api.powerplatform.com', '.logic.azure.com', '.webhook.office.com'];

export function isTeams(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return HOSTS.some((suffix) => host.endsWith(suffix));
}

export const teams: OpenChannel = ({ settings: { alerts, environment }, post }) => {
  const { webhookUrl: url } = alerts;
  if (url === null || !isTeams(url)) return null;
  return posting(url, (notice) => {
    const lines = messageOf(environment, notice).split('\n');
    const body = lines.map((text, index) => ({
      ...{ type: 'TextBlock', text, wrap: true },
      ...(index === 0 ? { weight: 'Bolder' } : {}),
    }));
    const content = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      ...{ type: 'AdaptiveCard', version: '1.4', body },
    };
    const contentType = 'application/vnd.microsoft.card.adaptive';
    return post(url, { type: 'message', attachments: [{ contentType, content }] });
  });
};

const CHANNELS: readonly OpenChannel[] = [file, chat, teams];

/** Those that the settings ask for. */
export function openChannels(options: ChannelOptions): readonly AlertChannel[] {
  return CHANNELS.flatMap((open) => open(options) ?? []);
}
