/** Microsoft Teams, whose workflows take nothing but Adaptive Cards (`BILLSYNC_ALERT_WEBHOOK_URL` of one of its hosts). */

import { messageOf, type OpenChannel, posting } from './channel.ts';

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
