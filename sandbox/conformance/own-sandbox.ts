import { type SandboxAccount, type SandboxOptions, startSandbox } from '../service.ts';
import type { OpenContextOptions, Target } from './suite-context.ts';

export interface OwnSandboxes {
  readonly options: Pick<OpenContextOptions, 'target' | 'shortLived' | 'otherEnvironment'>;
  close(): Promise<void>;
}

const SHORT_LIVED: SandboxOptions = {
  tokenLifetimeSeconds: 2,
  urlLifetimeSeconds: 2,
  wirePrefix: 'service',
  partnerKind: 'enterprise',
};

export async function startOwnSandboxes(responseLimitSeconds: number): Promise<OwnSandboxes> {
  const limit = { deliveryTimeoutMs: responseLimitSeconds * 1_000 };
  const [usual, shortLived] = await Promise.all([
    startSandbox(limit),
    startSandbox({ ...limit, ...SHORT_LIVED }),
  ]);
  // Its own credentials are left out: the suite tries those of the other environment there.
  const { baseUrl, authUrl } = usual.production;
  return {
    options: {
      target: targetOf(usual),
      shortLived: targetOf(shortLived),
      otherEnvironment: { baseUrl, authUrl },
    },
    close: async () => {
      await Promise.all([usual.close(), shortLived.close()]);
    },
  };
}

function targetOf({
  baseUrl,
  authUrl,
  clientId,
  clientSecret,
  apiKey,
  adminUrl,
  caPem,
}: SandboxAccount): Target {
  return { baseUrl, authUrl, clientId, clientSecret, apiKey, adminUrl, caPem };
}
