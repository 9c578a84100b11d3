import type { Core } from '../core.ts';
import { type BillingEvent, EVENT_TYPES, type EventType, type Registration } from '../model.ts';
import { uuidFrom } from '../randomness.ts';
import { RefusalError, refuse, requireBilling } from '../refusal.ts';

/** Tenants are given by name, id or the partner's own id. */
export type NewRegistration = Pick<Registration, 'name' | 'url'> &
  Partial<Pick<Registration, 'tenants' | 'headers' | 'caPem'>> & { readonly eventTypes?: readonly string[] };

export type RegistrationsOptions = Core & { readonly findTenantId: (name: string) => string };

/** Headers that a registration may not set, because another value would break the request. */
const RESERVED_HEADERS = ['host', 'content-length', 'transfer-encoding', 'connection', 'expect', 'upgrade'];

export class Registrations {
  readonly #options: RegistrationsOptions;

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  list(): readonly Registration[] {
    return [...this.#options.store.all('registration').values()];
  }

  /** @throws RefusalError when there is no such registration */
  get(registrationId: string): Registration {
    const registration = this.#options.store.get('registration', registrationId);
    if (registration !== undefined) return registration;
    throw new RefusalError('not_found', `There is no webhook registration "${registrationId}".`);
  }

  /** A registration is inactive by default, so that it can be tested first. @throws RefusalError naming the invalid setting */
  add({ active = false, ...settings }: NewRegistration & { readonly active?: boolean }): Registration {
    const { store, seed, now, hasBilling } = this.#options;
    requireBilling(hasBilling);
    const registration: Registration = {
      registrationId: uuidFrom(seed, 'registration', store.count('registrations')),
      active,
      createdAt: now().toISOString(),
      ...this.#check(settings),
    };
    store.put('registration', registration.registrationId, registration);
    return registration;
  }

  edit(registrationId: string, changes: Partial<NewRegistration>): Registration {
    const current = this.get(registrationId);
    const next = { ...current, ...this.#check({ ...current, ...changes }) };
    this.#options.store.put('registration', registrationId, next);
    return next;
  }

  setActive(registrationId: string, active: boolean): Registration {
    const next = { ...this.get(registrationId), active };
    this.#options.store.put('registration', registrationId, next);
    return next;
  }

  delete(registrationId: string): void {
    this.get(registrationId);
    this.#options.store.remove('registration', registrationId);
  }

  forEvent(event: Pick<BillingEvent, 'eventType' | 'tenantId'>): readonly Registration[] {
    return this.list().filter((one) => one.active && isSubscribed(one, event));
  }

  #check(settings: NewRegistration): Omit<Registration, 'registrationId' | 'active' | 'createdAt'> {
    if (settings.name.trim() === '') refuse('Name is empty.');
    return {
      name: settings.name,
      url: checkUrl(settings.url),
      eventTypes: checkEventTypes(settings.eventTypes ?? EVENT_TYPES),
      tenants: this.#checkTenants(settings.tenants ?? 'all'),
      headers: checkHeaders(settings.headers ?? {}),
      caPem: settings.caPem ?? null,
    };
  }

  #checkTenants(tenants: 'all' | readonly string[]): 'all' | readonly string[] {
    if (tenants === 'all') return 'all';
    if (this.#options.partner.kind === 'enterprise')
      refuse('Tenants can only be chosen by partners that use tenants (spec 2.3).');
    if (tenants.length === 0) refuse('Tenants is an empty selection; choose at least one, or all.');
    return [...new Set(tenants.map(this.#options.findTenantId))];
  }
}

function isSubscribed(
  registration: Registration,
  { eventType, tenantId }: Pick<BillingEvent, 'eventType' | 'tenantId'>,
) {
  const known = EVENT_TYPES.find((type) => type === eventType);
  if (known !== undefined && !registration.eventTypes.includes(known)) return false;
  return registration.tenants === 'all' || (tenantId !== null && registration.tenants.includes(tenantId));
}

function checkUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return refuse(`Payload URL "${text}" is not a URL.`);
  if (url.protocol !== 'https:')
    refuse('Payload URL has to be https; HTTP endpoints are unsupported (spec 2.3).');
  if (url.username !== '' || url.password !== '') refuse('Payload URL holds credentials; use a header.');
  return text;
}

function checkEventTypes(types: readonly string[]): readonly EventType[] {
  if (types.length === 0) refuse('Event Type is empty; choose one or more.');
  return [...new Set(types)].map(
    (name) =>
      EVENT_TYPES.find((type) => type === name) ??
      refuse(`Event Type "${name}" is unknown; there are ${EVENT_TYPES.join(', ')}.`),
  );
}

function checkHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) refuse(`Header name "${name}" is not allowed.`);
    if (RESERVED_HEADERS.includes(name.toLowerCase())) refuse(`Header "${name}" belongs to HTTP itself.`);
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) refuse(`The value of header "${name}" cannot be sent.`);
  }
  return headers;
}
