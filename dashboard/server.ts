import { dirname } from 'node:path';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { durationMs } from '../lib/config/setting-values.ts';
import type { Settings } from '../lib/config/settings.ts';
import { BillsyncError, sentenceOf } from '../lib/errors.ts';
import type { Health } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Scrub } from '../lib/log/scrub.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import { DATE_BASES } from '../reports/report-filters.ts';
import { keepOpen } from '../reports/shared-instance.ts';
import { filtersOf, isForPrograms, type Query } from './address.ts';
import { createAdminGuard } from './admin-guard.ts';
import { mergeTypedFields, periodMenu } from './filter-form.ts';
import type { OperatorOptions } from './operator/operator-work.ts';
import { registerOperator } from './operator/register-operator.ts';
import { answerPreflights, registerRemoteCodec } from './operator/remote-codec.ts';
import { createPageCache } from './page-cache.ts';
import { type PageContext, readPublished, sendFramed, sendMessage } from './page-context.ts';
import { pageError } from './page-error.ts';
import { registerAlerts } from './pages/alerts.ts';
import { registerEvents } from './pages/events.ts';
import { registerInvoices } from './pages/invoices.ts';
import { registerOverview } from './pages/overview.ts';
import { registerQuarantine } from './pages/quarantine.ts';
import { findingTabs, registerReports } from './pages/reports.ts';
import { openSavedViews, registerSavedViews } from './pages/saved-views.ts';
import { registerSearch } from './pages/search.ts';
import { type Explain, registerShipment } from './pages/shipment.ts';
import { registerShipments } from './pages/shipments.ts';
import type { OperatorForms, PluginHost, PluginPages } from './plugin-pages.ts';
import { listenAt, registerProbes } from './probes.ts';
import { ASSETS, renderPart } from './views.ts';

export interface DashboardOptions {
  readonly settings: Pick<Settings, 'admin' | 'environment'>;
  readonly publishedPath: string;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly alerts?: Alerts;
  readonly scrub?: Scrub;
  readonly quarantine?: Pick<Quarantine, 'list' | 'show'>;
  readonly explain?: Explain;
  readonly plugins?: readonly PluginPages[];
  readonly operator?: OperatorOptions;
  readonly timeLimitMs?: number;
  /** Milliseconds after which a page is sent in parts; the default is 300. */
  readonly streamAfterMs?: number;
}

export interface RunningDashboard {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const STREAM_AFTER_MS = 300;
const CLOSE_WITHIN_MS = 2_000;
/** DuckDB uses all cores for one query; more at once slow each other and hold memory. */
const QUERIES_AT_ONCE = 2;

export async function startDashboard(options: DashboardOptions): Promise<RunningDashboard> {
  const { settings, log } = options;
  const operator = settings.admin.operators.length === 0 ? null : (options.operator ?? null);
  const guard = createAdminGuard({ ...options, admin: settings.admin });
  const app = fastify({
    logger: false,
    exposeHeadRoutes: true,
    // A refused request, such as an overlong path, is not echoed.
    frameworkErrors: (_error, _request, reply) => closeSilently(reply),
    routerOptions: { ignoreTrailingSlash: true },
  });
  if (operator !== null) answerPreflights(app, settings.admin);
  app.addHook('onRequest', guard);
  app.addHook('preHandler', async (request) => {
    request.query = mergeTypedFields(request.query as Query);
  });
  app.addHook('onSend', async (_request, reply) => {
    for (const [name, value] of Object.entries(HEADERS))
      if (!reply.hasHeader(name)) reply.header(name, value);
  });
  // Pages contain text of others, such as the reason of a refused delivery.
  app.addHook('onSend', async (_request, reply, payload) =>
    typeof payload === 'string' &&
    /^(text\/html|application\/json)/.test(String(reply.getHeader('content-type')))
      ? (options.scrub?.(payload) ?? payload)
      : payload,
  );
  const context: PageContext = {
    environment: settings.environment,
    publishedPath: options.publishedPath,
    timeLimitMs: options.timeLimitMs ?? durationMs(settings.admin.pageTimeout),
    cache: createPageCache(options.publishedPath),
    streamAfterMs: options.streamAfterMs ?? STREAM_AFTER_MS,
    errorPage: (error, url) => pageError(error, { url, log }),
    inTurn: createSemaphore(QUERIES_AT_ONCE),
    health: options.health,
    quarantine: options.quarantine ?? null,
    canAct: operator !== null,
    plugins: options.plugins ?? [],
    temporalUi: settings.admin.temporalUi,
  };
  // The error handler is set before the pages are registered, because a page keeps the handler of that moment.
  answerErrors(app, context);
  registerProbes(app, { ...options, admin: settings.admin });
  app.get('/health', async (_request, reply) => {
    const [publication = null] = await readPublished(context, (run) => run('publication')).catch(() => []);
    const values = { report: options.health.report(), publication };
    const page = { view: 'health', title: 'Health', section: '/health', values, data: values };
    return sendFramed(context, reply, page);
  });
  const views = openSavedViews(dirname(options.publishedPath));
  registerOverview(app, context, views);
  registerSavedViews(app, context, views);
  registerInvoices(app, context);
  registerEvents(app, context);
  registerQuarantine(app, context);
  registerAlerts(app, context);
  registerShipments(app, context);
  registerShipment(app, context, options.explain ?? null);
  registerSearch(app, context);
  await registerReports(app, context);
  const operators =
    operator === null ? null : await registerOperator(app, context, { ...operator, admin: settings.admin });
  if (operator !== null) registerRemoteCodec(app, { admin: settings.admin, decode: operator.decode });
  for (const plugin of context.plugins) registerPlugin(app, context, plugin, operators);
  for (const { address, type, content, compressed } of ASSETS)
    app.get(address, (request, reply) => {
      const isCompressed = /\bgzip\b/.test(String(request.headers['accept-encoding']));
      reply
        .type(type)
        .header('cache-control', 'private, max-age=31536000, immutable')
        .header('vary', 'accept-encoding');
      return isCompressed ? reply.header('content-encoding', 'gzip').send(compressed()) : reply.send(content);
    });

  const { port, url } = await listenAt(app, settings.admin);
  const kept = keepOpen(options.publishedPath);
  return {
    ...{ url, port },
    async close() {
      // Browsers keep idle connections open, for which `close` would wait more than a minute.
      const cut = setTimeout(() => app.server.closeAllConnections(), CLOSE_WITHIN_MS);
      await app.close().finally(() => {
        clearTimeout(cut);
        kept.close();
      });
    },
  };
}

/** `no-store`, since pages name customers. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};

function closeSilently(reply: FastifyReply): void {
  reply.code(404).headers(HEADERS).type('text/plain').send('There is nothing at this address.\n');
}

function answerErrors(app: FastifyInstance, context: PageContext): void {
  app.setNotFoundHandler(async (_request, reply) =>
    sendMessage(context, reply.code(404), {
      ...{ title: 'No such page', message: 'There is nothing at this address.' },
    }),
  );
  app.setErrorHandler(async (error, request, reply) => {
    const { status, ...page } = context.errorPage(error, request.url);
    return sendMessage(context, reply.code(status), page);
  });
}

function registerPlugin(
  app: FastifyInstance,
  context: PageContext,
  plugin: PluginPages,
  operators: OperatorForms | null,
): void {
  const host: PluginHost = {
    operators,
    noOperator: operators === null ? renderPart('no-operator', {}) : '',
    isForPrograms,
    periodMenu(query, path) {
      const menu = periodMenu(query as Query, path);
      const filters = filtersOf(query as Query);
      const { from, to } = menu;
      return { from, to, html: renderPart('period-menu', { ...menu, filters, bases: DATE_BASES }) };
    },
    send: (reply, { title, html, data }) => {
      // Forms name their origin, which the policy of the other pages would suppress.
      reply.header('referrer-policy', 'same-origin');
      return sendFramed(context, reply, {
        ...{ view: 'plugin', title, section: plugin.address, data },
        values: { html: findingTabs(context, plugin.address) + html },
      });
    },
    async answered(reply, { title, isRefusal }, answer) {
      try {
        return await answer();
      } catch (error) {
        if (!(error instanceof BillsyncError)) throw error;
        const message = sentenceOf(error);
        const page = { title, html: renderPart('message', { message }), data: { error: message } };
        return host.send(reply.code(isRefusal(error) ? 400 : 503), page);
      }
    },
  };
  plugin.register(app, host);
}
