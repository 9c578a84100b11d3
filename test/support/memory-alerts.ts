import type { Alert } from '../../lib/alerts/alert-store.ts';
import type { Alerts } from '../../lib/alerts/alerts.ts';

/** Alerts that are kept in memory: the open ones, and every call in order. */
export function memoryAlerts() {
  const open = new Map<string, Alert>();
  const calls: string[] = [];
  const alerts: Alerts = {
    raise(alert) {
      open.set(alert.key, alert);
      calls.push(`raised ${alert.key}`);
    },
    resolve(key) {
      open.delete(key);
      calls.push(`resolved ${key}`);
    },
    close: async () => {},
  };
  return { alerts, open, calls };
}
