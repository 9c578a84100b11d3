export class RefusalError extends Error {
  override readonly name = 'RefusalError';
  readonly code: 'not_found' | 'invalid_request' | 'refused_transition' | 'conflict';

  constructor(code: RefusalError['code'], message: string) {
    super(message);
    this.code = code;
  }

  get httpStatus(): number {
    if (this.code === 'not_found') return 404;
    return this.code === 'invalid_request' ? 400 : 409;
  }
}

export function refuse(message: string): never {
  throw new RefusalError('invalid_request', message);
}

export function requireBilling(hasBilling: boolean): void {
  if (!hasBilling) throw new RefusalError('conflict', 'The billing feature is not enabled for this account.');
}
