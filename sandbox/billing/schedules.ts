/** Schedules that create and approve invoices by themselves (spec 3, additional rule). */

import type { Core } from '../core.ts';
import type { Invoice, Schedule } from '../model.ts';
import { uuidFrom } from '../randomness.ts';
import { RefusalError, refuse } from '../refusal.ts';
import type { Billing } from './billing.ts';

/** Tenants are given by name, id or the partner's own id; `everySeconds` is at least 1. */
export type NewSchedule = Pick<Schedule, 'name'> & Partial<Omit<Schedule, 'scheduleId' | 'lastRunAt'>>;

export type SchedulesOptions = Core & { readonly billing: Billing };

export class Schedules {
  readonly #options: SchedulesOptions;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #runs = new Set<Promise<unknown>>();

  constructor(options: SchedulesOptions) {
    this.#options = options;
    for (const schedule of this.list()) this.#arm(schedule);
  }

  list(): readonly Schedule[] {
    return [...this.#options.store.all('schedule').values()];
  }

  /** @throws RefusalError when there is no such schedule */
  get(scheduleId: string): Schedule {
    const schedule = this.#options.store.get('schedule', scheduleId);
    if (schedule !== undefined) return schedule;
    throw new RefusalError('not_found', `There is no billing schedule "${scheduleId}".`);
  }

  add(request: NewSchedule): Schedule {
    const { seed, store } = this.#options;
    const scheduleId = uuidFrom(seed, 'schedule', store.count('schedules'));
    return this.#save({ scheduleId, lastRunAt: null, ...this.#check(request) });
  }

  edit(scheduleId: string, changes: Partial<NewSchedule>): Schedule {
    const current = this.get(scheduleId);
    return this.#save({ ...current, ...this.#check({ ...current, ...changes }) });
  }

  delete(scheduleId: string): void {
    this.get(scheduleId);
    this.#disarm(scheduleId);
    this.#options.store.remove('schedule', scheduleId);
  }

  run(scheduleId: string): Promise<readonly Invoice[]> {
    const run = this.#generate(this.get(scheduleId));
    const settled: Promise<unknown> = run.catch(() => {}).finally(() => this.#runs.delete(settled));
    this.#runs.add(settled);
    return run;
  }

  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.#runs);
  }

  async close(): Promise<void> {
    for (const scheduleId of [...this.#timers.keys()]) this.#disarm(scheduleId);
    await this.idle();
  }

  async #generate(schedule: Schedule): Promise<readonly Invoice[]> {
    const { store, billing, now } = this.#options;
    store.put('schedule', schedule.scheduleId, { ...schedule, lastRunAt: now().toISOString() });
    const invoices: Invoice[] = [];
    for (const request of this.#requestsOf(schedule)) {
      const { invoiceId, tenantId } = await billing.create({ ...request, scheduleId: schedule.scheduleId });
      const override = tenantId === null ? undefined : schedule.tenantOverrides[tenantId];
      if (override ?? schedule.autoApprove) await billing.finalize(invoiceId);
      invoices.push(billing.invoice(invoiceId));
    }
    return invoices;
  }

  #requestsOf(schedule: Schedule) {
    const { billing } = this.#options;
    const { shipments, level, tenants } = schedule;
    if (billing.partner.kind === 'enterprise') return [{ shipments }];
    if (level === 'partner') return [{ partnerLevel: true }];
    const chosen = billing
      .tenants()
      .filter(({ tenantId }) => tenants === 'all' || tenants.includes(tenantId));
    return chosen.map(({ tenantId }) => ({ tenant: tenantId, shipments }));
  }

  #check(request: NewSchedule): Omit<Schedule, 'scheduleId' | 'lastRunAt'> {
    const { billing } = this.#options;
    const { everySeconds = null, shipments = 25, tenants = 'all' } = request;
    if (request.name.trim() === '') refuse('The name is empty.');
    if (everySeconds !== null && !(everySeconds >= 1)) refuse('everySeconds has to be at least 1.');
    if (!Number.isInteger(shipments) || shipments < 0) refuse('shipments has to be a whole number.');
    const overrides = Object.entries(request.tenantOverrides ?? {});
    return {
      name: request.name,
      enabled: request.enabled ?? true,
      everySeconds,
      level: request.level ?? 'tenant',
      tenants: tenants === 'all' ? 'all' : tenants.map((name) => billing.tenant(name).tenantId),
      autoApprove: request.autoApprove ?? false,
      tenantOverrides: Object.fromEntries(overrides.map(([name, on]) => [billing.tenant(name).tenantId, on])),
      shipments,
    };
  }

  #save(schedule: Schedule): Schedule {
    this.#options.store.put('schedule', schedule.scheduleId, schedule);
    this.#arm(schedule);
    return schedule;
  }

  #arm({ scheduleId, enabled, everySeconds, name }: Schedule): void {
    this.#disarm(scheduleId);
    if (!enabled || everySeconds === null) return;
    const tick = () => {
      this.run(scheduleId).catch((error: unknown) => {
        this.#options.activity.add('schedule', `${name}: the run failed: ${(error as Error).message}`);
      });
    };
    this.#timers.set(scheduleId, setInterval(tick, everySeconds * 1_000));
  }

  #disarm(scheduleId: string): void {
    clearInterval(this.#timers.get(scheduleId));
    this.#timers.delete(scheduleId);
  }
}
