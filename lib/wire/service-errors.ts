import type { Reaction } from '../errors.ts';

export interface ServiceError {
  /**
   * `retry`: it may pass by itself. `operator`: a person at the service or here has to change something; a failing
   * service may give the same answer for a moment. `fatal`: a retry with the same settings cannot succeed.
   */
  readonly reaction: Reaction;
  /** Whether the whole service, only the called endpoint, or only this invoice is affected. */
  readonly scope: 'service' | 'endpoint' | 'invoice';
}

export const SERVICE_ERRORS = {
  'not-configured': { reaction: 'fatal', scope: 'service' },
  'address-refused': { reaction: 'fatal', scope: 'service' },
  'credentials-refused': { reaction: 'retry', scope: 'service' },
  unreachable: { reaction: 'retry', scope: 'service' },
  overloaded: { reaction: 'retry', scope: 'service' },

  redirect: { reaction: 'fatal', scope: 'endpoint' },
  forbidden: { reaction: 'operator', scope: 'endpoint' },
  'unexpected-answer': { reaction: 'operator', scope: 'endpoint' },
  'server-fault': { reaction: 'retry', scope: 'endpoint' },
  'deadline-exceeded': { reaction: 'retry', scope: 'endpoint' },
  'host-busy': { reaction: 'retry', scope: 'endpoint' },
  timeout: { reaction: 'retry', scope: 'endpoint' },

  refused: { reaction: 'operator', scope: 'invoice' },
  'unknown-invoice': { reaction: 'retry', scope: 'invoice' },
  'not-exported': { reaction: 'retry', scope: 'invoice' },
  'not-ready': { reaction: 'retry', scope: 'invoice' },
  'not-modified': { reaction: 'retry', scope: 'invoice' },
  'not-csv': { reaction: 'retry', scope: 'invoice' },
  'url-refused': { reaction: 'retry', scope: 'invoice' },
  'host-not-allowed': { reaction: 'retry', scope: 'invoice' },
  'impossible-announcement': { reaction: 'retry', scope: 'invoice' },
  'hash-mismatch': { reaction: 'retry', scope: 'invoice' },
  'size-mismatch': { reaction: 'retry', scope: 'invoice' },
} as const satisfies Readonly<Record<string, ServiceError>>;

export function serviceError(code: unknown): ServiceError | null {
  return typeof code === 'string' && Object.hasOwn(SERVICE_ERRORS, code)
    ? SERVICE_ERRORS[code as keyof typeof SERVICE_ERRORS]
    : null;
}
