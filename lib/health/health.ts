/** What a role knows about its own state: each component says how it is, `/readyz` and `doctor` repeat it. */

export interface ComponentHealth {
  readonly isHealthy: boolean;
  /** What a person reads, without secrets: what is wrong and since what; empty when all is well. */
  readonly detail: string;
  /** ISO 8601 UTC of the last change between healthy and not. */
  readonly since: string;
  /** true: others run it. That it is away is told, and does not make this process unready to do its part. */
  readonly isOutside?: boolean;
}

export interface HealthReport {
  /** Everything of our own is well: probes answer 200. */
  readonly isReady: boolean;
  /** So is what others run. */
  readonly isWell: boolean;
  readonly components: Readonly<Record<string, ComponentHealth>>;
}

export interface Health {
  /** @param component stable name, e.g. `temporal`, `inbox`, `warehouse` */
  set(
    component: string,
    state: { readonly isHealthy: boolean; readonly detail?: string; readonly isOutside?: boolean },
  ): void;
  report(): HealthReport;
}

/** A health without components is healthy; one unhealthy component makes the process so. */
export function createHealth(now: () => Date = () => new Date()): Health {
  const components = new Map<string, ComponentHealth>();
  return {
    set(component, { isHealthy, detail = '', isOutside = false }) {
      const before = components.get(component);
      const since = before?.isHealthy === isHealthy ? before.since : now().toISOString();
      components.set(component, { isHealthy, detail, since, ...(isOutside ? { isOutside } : {}) });
    },
    report() {
      const all = [...components.values()];
      return {
        isReady: all.every(({ isHealthy, isOutside }) => isHealthy || isOutside === true),
        isWell: all.every(({ isHealthy }) => isHealthy),
        components: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      };
    },
  };
}
