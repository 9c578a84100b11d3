/** The environment and the settings of a process that `up` starts: no more than its role reads. */

import type { Settings } from '../../lib/config/settings.ts';
import type { ChildRole } from './child-messages.ts';

/** Settings are sent to it, so it needs none of the variables that they come from. */
const SYSTEM =
  /^(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|NO_COLOR|FORCE_COLOR|NODE_\w+|SSL_CERT_(FILE|DIR)|XDG_\w+|UV_\w+|MALLOC_\w+|LD_\w+|OTEL_\w+|TEMPORAL_\w+)$/;
const BUCKET = /^AWS_/;
const CATALOG = /^PG[A-Z]+$/;

export function childEnvironment(
  role: ChildRole,
  { archive, warehouse }: Pick<Settings, 'archive' | 'warehouse'>,
  own: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const readsLake = role === 'worker' && warehouse.kind === 'ducklake';
  const isRead = (name: string): boolean =>
    SYSTEM.test(name) ||
    (BUCKET.test(name) && (archive.kind === 's3' || readsLake)) ||
    (CATALOG.test(name) && readsLake);
  return Object.fromEntries(Object.entries(own).filter(([name]) => isRead(name)));
}

/** The endpoint asks the service only for whose account this is, and reads neither the warehouse nor the admin port's passwords. */
export function childSettings(role: ChildRole, settings: Settings): Settings {
  if (role !== 'webhook') return settings;
  const { service, admin, warehouse, partnerId } = settings;
  return {
    ...settings,
    admin: { ...admin, basicAuth: null, operators: [] },
    warehouse: warehouse.kind === 'ducklake' ? { ...warehouse, catalog: 'postgres:' } : warehouse,
    service: partnerId === null ? service : { ...service, clientId: null, clientSecret: null, apiKey: null },
  };
}
