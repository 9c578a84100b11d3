/** Sets the context from addresses and credentials: clients, the endpoint when one is needed, and their end. */
import { AdminApplication } from './admin-application.ts';
import { Http } from './http.ts';
import { Receiver } from './receiver.ts';
import { Service } from './service.ts';
import { SuiteContext } from './suite-context.ts';

/** Where a service is and how to call it. */
export interface Target {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string | null;
  /** Trusted instead of the system's CAs; null keeps those. */
  readonly caPem: string | null;
  /** Of the sandbox; null on a real account, where nothing may be changed. */
  readonly adminUrl: string | null;
}

export interface OpenContextOptions {
  readonly target: Target;
  /** A sandbox that grants short lives, spells neutrally and has a partner without tenants. */
  readonly hasty?: Target;
  /** Addresses of the target's other environment (spec 5). */
  readonly otherEnvironment?: Pick<Target, 'baseUrl' | 'authUrl'>;
  readonly invoiceIds?: readonly string[];
  readonly responseLimitMs?: number;
  readonly briefDelayMs?: number;
}

export interface OpenSuiteContext {
  readonly context: SuiteContext;
  close(): Promise<void>;
}

export async function openSuiteContext(options: OpenContextOptions): Promise<OpenSuiteContext> {
  const { target, hasty, otherEnvironment } = options;
  const https: Http[] = [];
  const open = (one: Target) => {
    const http = new Http(one.caPem);
    https.push(http);
    const application = one.adminUrl === null ? null : new AdminApplication(http, one.adminUrl);
    return { service: new Service({ ...one, http }), application };
  };
  const { service, application } = open(target);
  const receiver = application === null ? null : await Receiver.start();
  const second = hasty === undefined ? null : open(hasty);
  const context = new SuiteContext({
    service,
    application,
    hasty:
      second === null || second.application === null ? null : { ...second, application: second.application },
    otherEnvironment:
      otherEnvironment === undefined ? null : open({ ...target, ...otherEnvironment }).service,
    receiver,
    invoiceIds: options.invoiceIds ?? [],
    responseLimitMs: options.responseLimitMs ?? 30_000,
    briefDelayMs: options.briefDelayMs ?? 60_000,
  });
  const close = async () => {
    await receiver?.close();
    await Promise.all(https.map((http) => http.close()));
  };
  return { context, close };
}
