/** What every way to tell a person has in common; `channels.ts` lists them. */

import type { Settings } from '../../config/settings.ts';

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
