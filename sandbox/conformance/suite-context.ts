import { Application } from './application.ts';
import { Http } from './http.ts';
import { Receiver } from './receiver.ts';
import { Service, type ServiceOptions } from './service.ts';

export interface ShortLivedService {
  readonly service: Service;
  readonly application: Application;
}

export interface SuiteContext {
  readonly service: Service;
  readonly hasApplication: boolean;
  /** This member and the next two refuse on a real account, where nothing may be changed. @throws SkippedRuleError */
  readonly application: Application;
  readonly receiver: Receiver;
  readonly shortLived: ShortLivedService;
  /** Called with this environment's credentials (spec 5). */
  readonly otherEnvironment: Service | null;
  /** Ids of finalized invoices of a real account that the suite may read. */
  readonly invoiceIds: readonly string[];
  /** How long an endpoint may take to answer a delivery: 30 seconds (spec 8). */
  readonly responseLimitMs: number;
  /** Longest wait that still counts as brief (spec 8). */
  readonly briefDelayMs: number;
  once<T>(story: (context: SuiteContext) => Promise<T>): Promise<T>;
}

export function skip(reason: string): never {
  throw new SkippedRuleError(reason);
}

export interface Target extends Omit<ServiceOptions, 'http'> {
  /** Trusted instead of the system's CAs; null keeps those. */
  readonly caPem: string | null;
  /** The address of the admin API; null on a real account, where nothing may be changed. */
  readonly adminUrl: string | null;
}

export interface OpenContextOptions {
  readonly target: Target;
  /** A second sandbox with short-lived tokens and URLs, neutral names of fields and a partner without tenants. */
  readonly shortLived?: Target;
  readonly otherEnvironment?: Pick<Target, 'baseUrl' | 'authUrl'>;
  readonly invoiceIds?: readonly string[];
  readonly responseLimitMs?: number;
  readonly briefDelayMs?: number;
}

export async function openSuiteContext(options: OpenContextOptions) {
  const { target, shortLived, otherEnvironment } = options;
  const https: Http[] = [];
  const open = (one: Target) => {
    const http = new Http(one.caPem);
    https.push(http);
    const application = one.adminUrl === null ? null : new Application(http, one.adminUrl);
    return { service: new Service({ ...one, http }), application };
  };
  const { service, application } = open(target);
  const receiver = application === null ? null : await Receiver.start();
  const second = shortLived === undefined ? null : open(shortLived);
  const results = new Map<unknown, unknown>();
  const context: SuiteContext = {
    service,
    hasApplication: application !== null,
    get application() {
      return application ?? skip('it would change data in the account');
    },
    get receiver() {
      return receiver ?? skip('it would register a webhook in the account');
    },
    get shortLived() {
      if (second === null || second.application === null)
        return skip('it would take as long as the lifetimes of the account');
      return { ...second, application: second.application };
    },
    otherEnvironment:
      otherEnvironment === undefined ? null : open({ ...target, ...otherEnvironment }).service,
    invoiceIds: options.invoiceIds ?? [],
    responseLimitMs: options.responseLimitMs ?? 30_000,
    briefDelayMs: options.briefDelayMs ?? 60_000,
    once<T>(story: (context: SuiteContext) => Promise<T>): Promise<T> {
      const result = (results.get(story) as Promise<T> | undefined) ?? story(context);
      results.set(story, result);
      return result;
    },
  };
  const close = async (): Promise<void> => {
    await receiver?.close();
    await Promise.all(https.map((http) => http.close()));
  };
  return { context, close };
}

export class SkippedRuleError extends Error {
  override readonly name = 'SkippedRuleError';
}
