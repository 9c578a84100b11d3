/** The context that rules share: the service, its application, and the endpoint. */

import { AdminApplication, type Application } from './application.ts';
import { Http } from './http.ts';
import { Receiver } from './receiver.ts';
import { Service } from './service.ts';

/** A service with short lifetimes, neutral spelling of the id fields, and a partner without tenants. */
export interface ShortLivedService {
  readonly service: Service;
  readonly application: Application;
}

export interface SuiteContextOptions {
  readonly service: Service;
  /** null on a real account, where nothing may be changed. */
  readonly application: Application | null;
  readonly shortLived: ShortLivedService | null;
  /** The same service in its other environment (spec 5), called with this environment's credentials. */
  readonly otherEnvironment: Service | null;
  readonly receiver: Receiver | null;
  /** Finalized invoices of a real account that may be read. */
  readonly invoiceIds: readonly string[];
  /** How long the service gives an endpoint to answer (spec 8: 30 seconds). */
  readonly responseLimitMs: number;
  /** Longest wait that still counts as a brief delay before the retry (spec 8). */
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

  /** @throws SkippedRuleError on a real account */
  get application(): Application {
    return this.#options.application ?? skip('it would change data in the account');
  }

  /** @throws SkippedRuleError on a real account */
  get receiver(): Receiver {
    return this.#options.receiver ?? skip('it would register a webhook in the account');
  }

  /** @throws SkippedRuleError on a real account */
  get shortLived(): ShortLivedService {
    return this.#options.shortLived ?? skip('it would take as long as the lifetimes of the account');
  }

  /** Runs a preparation once for all the rules that use it. */
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

// Opens the context from addresses and credentials: clients, and an endpoint when a rule needs one.

/** Where a service is and how to call it. */
export interface Target {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string | null;
  /** Trusted instead of the system's CAs; null keeps those. */
  readonly caPem: string | null;
  /** The sandbox's application; null on a real account, where nothing may be changed. */
  readonly adminUrl: string | null;
}

export interface OpenContextOptions {
  readonly target: Target;
  /** A sandbox that grants short lives, spells neutrally and has a partner without tenants. */
  readonly shortLived?: Target;
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
  const { target, shortLived, otherEnvironment } = options;
  const https: Http[] = [];
  const open = (one: Target) => {
    const http = new Http(one.caPem);
    https.push(http);
    const application = one.adminUrl === null ? null : new AdminApplication(http, one.adminUrl);
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
  const close = async () => {
    await receiver?.close();
    await Promise.all(https.map((http) => http.close()));
  };
  return { context, close };
}

/** The rule cannot be checked here; the message is the reason. */
export class SkippedRuleError extends Error {
  override readonly name = 'SkippedRuleError';
}
