/** The message as `text`, which Slack, Mattermost, Rocket.Chat and Google Chat take (`BILLSYNC_ALERT_WEBHOOK_URL`). */

import { messageOf, type OpenChannel, posting } from './channel.ts';
import { isTeams } from './teams.ts';

export const chat: OpenChannel = ({ settings: { alerts, environment }, post }) => {
  const { webhookUrl: url } = alerts;
  return url === null || isTeams(url)
    ? null
    : posting(url, (notice) => post(url, { text: messageOf(environment, notice) }));
};
