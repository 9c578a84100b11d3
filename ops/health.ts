/** What a role knows about its own state: each component says how it is, `/readyz` and `doctor` repeat it. */

export interface ComponentHealth {
  readonly isHealthy: boolean;
  /** What a person reads, without secrets: what is wrong and since what; empty when all is well. */
  readonly detail: string;
  /** ISO 8601 UTC of the last change between healthy and not. */
  readonly since: string;
}

export interface Health {
  /** @param component stable name, e.g. `temporal`, `inbox`, `warehouse` */
  set(component: string, state: { readonly isHealthy: boolean; readonly detail?: string }): void;
  report(): { readonly isReady: boolean; readonly components: Readonly<Record<string, ComponentHealth>> };
}

/** A health without components is healthy; one unhealthy component makes the process so. */
export function createHealth(now: () => Date = () => new Date()): Health {
  const components = new Map<string, ComponentHealth>();
  return {
    set(component, { isHealthy, detail = '' }) {
      const before = components.get(component);
      const since = before?.isHealthy === isHealthy ? before.since : now().toISOString();
      components.set(component, { isHealthy, detail, since });
    },
    report() {
      const isReady = [...components.values()].every((component) => component.isHealthy);
      return {
        isReady,
        components: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      };
    },
  };
}
