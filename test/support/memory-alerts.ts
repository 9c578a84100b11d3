import type { Alert } from '../../lib/alerts/alert-store.ts';
import type { Alerts } from '../../lib/alerts/alerts.ts';

/** Alerts that are kept in memory: the open ones, what was raised and resolved, and every call in order. */
export function memoryAlerts() {
  const open = new Map<string, Alert>();
  const raised: Alert[] = [];
  const resolved: string[] = [];
  const calls: string[] = [];
  const alerts: Alerts = {
    raise(alert) {
      open.set(alert.key, alert);
      raised.push(alert);
      calls.push(`raised ${alert.key}`);
    },
    resolve(key, { check } = {}) {
      const needed = open.get(key)?.check;
      if (needed !== undefined && needed !== check) return;
      open.delete(key);
      resolved.push(key);
      calls.push(`resolved ${key}`);
    },
    close: async () => {},
  };
  return { alerts, open, raised, resolved, calls };
}
