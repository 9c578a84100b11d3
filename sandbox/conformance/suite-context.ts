import { Application } from './application.ts';
import { Http } from './http.ts';
import { Receiver } from './receiver.ts';
import { Service, type ServiceOptions } from './service.ts';

export interface ShortLivedService {
  readonly service: Service;
  readonly application: Application;
}

export interface SuiteContextOptions {
  readonly service: Service;
  /** null on a real account, where nothing may be changed. */
  readonly application: Application | null;
  readonly shortLived: ShortLivedService | null;
  /** Called with this environment's credentials (spec 5). */
  readonly otherEnvironment: Service | null;
  readonly receiver: Receiver | null;
  /** Finalized invoices of a real account that may be read. */
  readonly invoiceIds: readonly string[];
  /** Spec 8: 30 seconds. */
  readonly responseLimitMs: number;
  /** Longest wait that still counts as brief (spec 8). */
  readonly briefDelayMs: number;
}

export class SuiteContext {
  readonly service: Service;
  readonly otherEnvironment: Service | null;
  readonly invoiceIds: readonly string[];
  readonly responseLimitMs: number;
  readonly briefDelayMs: number;
  readonly #options: SuiteContextOptions;
  readonly #results = new Map<(context: SuiteContext) => unknown, unknown>();

  constructor(options: SuiteContextOptions) {
    this.service = options.service;
    this.otherEnvironment = options.otherEnvironment;
    this.invoiceIds = options.invoiceIds;
    this.responseLimitMs = options.responseLimitMs;
    this.briefDelayMs = options.briefDelayMs;
    this.#options = options;
  }

  get hasApplication(): boolean {
    return this.#options.application !== null;
  }

  /** @throws SkippedRuleError on a real account, here and below */
  get application(): Application {
    return this.#options.application ?? skip('it would change data in the account');
  }

  get receiver(): Receiver {
    return this.#options.receiver ?? skip('it would register a webhook in the account');
  }

  get shortLived(): ShortLivedService {
    return this.#options.shortLived ?? skip('it would take as long as the lifetimes of the account');
  }

  once<T>(story: (context: SuiteContext) => Promise<T>): Promise<T> {
    const earlier = this.#results.get(story) as Promise<T> | undefined;
    if (earlier !== undefined) return earlier;
    const result = story(this);
    this.#results.set(story, result);
    return result;
  }
}

export function skip(reason: string): never {
  throw new SkippedRuleError(reason);
}

export interface Target extends Omit<ServiceOptions, 'http'> {
  /** Trusted instead of the system's CAs; null keeps those. */
  readonly caPem: string | null;
  /** null on a real account, where nothing may be changed. */
  readonly adminUrl: string | null;
}

export interface OpenContextOptions {
  readonly target: Target;
  /** Short lives, neutral spelling, a partner without tenants. */
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
  const context = new SuiteContext({
    service,
    application,
    shortLived:
      second === null || second.application === null ? null : { ...second, application: second.application },
    otherEnvironment:
      otherEnvironment === undefined ? null : open({ ...target, ...otherEnvironment }).service,
    receiver,
    invoiceIds: options.invoiceIds ?? [],
    responseLimitMs: options.responseLimitMs ?? 30_000,
    briefDelayMs: options.briefDelayMs ?? 60_000,
  });
  const close = async (): Promise<void> => {
    await receiver?.close();
    await Promise.all(https.map((http) => http.close()));
  };
  return { context, close };
}

export class SkippedRuleError extends Error {
  override readonly name = 'SkippedRuleError';
}
