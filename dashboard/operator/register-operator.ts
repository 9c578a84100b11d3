import { readFile, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { audited } from '../../lib/audit-log.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { BillsyncError, sentenceOf } from '../../lib/errors.ts';
import { messageOf } from '../../lib/system-errors.ts';
import { lastValue, type Query } from '../address.ts';
import { BADGE, type PageContext, sendFramed } from '../page-context.ts';
import type { OperatorForms } from '../plugin-pages.ts';
import { type Agreement, createAgreements } from './agreements.ts';
import { guardOperators, parseForms } from './operator-guard.ts';
import type { OperatorOptions, RequestedAction } from './operator-work.ts';
import { receiveUpload } from './upload.ts';

const SECTION = '/operator';
const MAX_ENTRIES = 200;
/** Alerts can be silenced for a week at most. */
const MAX_QUIET_HOURS = 168;
/** More ids go through `billsync backfill --ids FILE`. */
const MAX_FORM_BYTES = 1024 * 1024;

const MULTIPART = 'multipart/form-data';
/** An imported file may be larger than any invoice: one of two million rows has 260 MB. */
const MAX_IMPORT_BYTES = 1024 ** 3;
const MAX_GIVEN_BYTES = 20 * 1024 ** 2;

type TakeUpload = (
  request: FastifyRequest,
  reply: FastifyReply,
  receive: (maxBytes: number) => Promise<{ readonly path: string; readonly name: string }>,
) => Promise<FastifyReply>;

export async function registerOperator(
  app: FastifyInstance,
  context: PageContext,
  { admin, ...options }: OperatorOptions & { readonly admin: Settings['admin'] },
): Promise<OperatorForms> {
  const { work, audit, uploadFolder } = options;
  const agreements = createAgreements();
  app.addHook('onClose', () => agreements.close());

  const page = (
    reply: FastifyReply,
    view: string,
    title: string,
    values: Readonly<Record<string, unknown>>,
  ) => sendFramed(context, reply, { view, title, section: SECTION, values });

  async function refused(reply: FastifyReply, error: unknown, back: string): Promise<FastifyReply> {
    if (!(error instanceof BillsyncError)) throw error;
    return page(reply.code(409), 'operator-done', 'The action is not possible', {
      problem: sentenceOf(error),
      detail: '',
      next: null,
      back,
    });
  }

  async function offer(
    reply: FastifyReply,
    by: string,
    make: () => Promise<Omit<Agreement, 'by'>>,
  ): Promise<FastifyReply> {
    let offered: Omit<Agreement, 'by'>;
    try {
      offered = await make();
    } catch (error) {
      return refused(reply, error, cameFrom(reply.request));
    }
    const token = agreements.offer({ by, ...offered });
    const { described } = offered;
    return page(reply, 'operator-agree', described.title, { isReasonOptional: false, ...described, token });
  }

  const offerWork = (reply: FastifyReply, by: string, requested: RequestedAction): Promise<FastifyReply> =>
    offer(reply, by, async () => ({
      described: await work.describe(requested),
      perform: (reason) => work.perform(requested, reason, by),
      ...(requested.action === 'import'
        ? { forget: () => void rm(requested.path, { force: true }).catch(() => undefined) }
        : {}),
    }));

  async function act(
    reply: FastifyReply,
    { by, described, perform }: Agreement,
    reason: string,
  ): Promise<FastifyReply> {
    const { command, target, back } = described;
    try {
      const record = {
        by,
        via: 'dashboard',
        action: command,
        target,
        reason: reason === '' ? null : reason,
      } as const;
      const { result, entry } = await audited(audit, record, async () => {
        const result = await perform(reason, by);
        return { result, detail: result.detail };
      });
      context.cache.expire(BADGE);
      const values = { problem: null, ...result, back, number: entry.number };
      return await page(reply, 'operator-done', 'Done', values);
    } catch (error) {
      return refused(reply, error, back);
    }
  }

  /** Registers an upload form. `take` gets a function that stores the uploaded file; an error of either is shown as a refusal. */
  const uploads = (inner: FastifyInstance, path: string, back: string, take: TakeUpload): void => {
    if (!inner.hasContentTypeParser(MULTIPART))
      inner.addContentTypeParser(MULTIPART, (_request, body, done) => done(null, body));
    inner.post(path, async (request, reply) => {
      const type = request.headers['content-type'] ?? '';
      if (!type.startsWith(MULTIPART)) return reply.callNotFound();
      try {
        return await take(request, reply, (maxBytes) =>
          receiveUpload(request.body as Readable, type, { folder: uploadFolder, maxBytes }),
        );
      } catch (error) {
        return refused(reply, error, back);
      }
    });
  };

  const guarded = (inner: FastifyInstance): void => {
    guardOperators(inner, admin);
    parseForms(inner, MAX_FORM_BYTES);
  };

  await app.register(async (inner) => {
    guarded(inner);
    inner.get(SECTION, async (_request, reply) => {
      // Without Temporal the page still works; actions that need it are refused when requested.
      const schedule = await work.schedule().catch((error: unknown) => ({ problem: messageOf(error) }));
      return page(reply, 'operator', 'Actions', { schedule });
    });
    inner.get(`${SECTION}/agree`, async (request, reply) => {
      const requested = requestedBy(request.query as Query);
      if (requested === null) return reply.callNotFound();
      return offerWork(reply, request.operator, requested);
    });
    inner.post(`${SECTION}/backfill`, async (request, reply) => {
      const invoices = (fieldOf(request.body, 'ids') ?? '').split(/[\s,;]+/).filter((entry) => entry !== '');
      return offerWork(reply, request.operator, { action: 'backfill', invoices: [...new Set(invoices)] });
    });
    uploads(inner, `${SECTION}/import`, SECTION, async (request, reply, receive) =>
      offerWork(reply, request.operator, { action: 'import', ...(await receive(MAX_IMPORT_BYTES)) }),
    );
    inner.post(`${SECTION}/act`, async (request, reply) => {
      const agreement = agreements.take(fieldOf(request.body, 'token') ?? '', request.operator);
      if (agreement !== null) return act(reply, agreement, (fieldOf(request.body, 'reason') ?? '').trim());
      const problem =
        'This was confirmed before, or is older than a quarter of an hour. Nothing was changed now.';
      const values = { problem, detail: '', next: null, back: SECTION };
      return page(reply.code(409), 'operator-done', 'Nothing was changed', values);
    });
    inner.get<{ Params: { id: string } }>(`${SECTION}/backfill/:id`, async (request, reply) => {
      const { id } = request.params;
      const status = /^[0-9a-f-]{36}$/.test(id) ? await work.backfill(id).catch(() => null) : null;
      if (status === null) return reply.callNotFound();
      if (!status.isOver) reply.header('refresh', '3');
      return page(reply, 'operator-backfill', 'Backfill', { id, ...status });
    });
    inner.get(`${SECTION}/audit`, async (_request, reply) => {
      const [entries, verdict] = await Promise.all([audit.newest(MAX_ENTRIES), audit.verify()]);
      return page(reply, 'operator-audit', 'Audit log', { entries, verdict });
    });
  });
  return {
    offer,
    upload(path, make) {
      app.register(async (inner) => {
        guarded(inner);
        uploads(inner, path, path, async (request, reply, receive) => {
          const file = await receive(MAX_GIVEN_BYTES);
          const bytes = await readFile(file.path).finally(() => rm(file.path, { force: true }));
          return offer(reply, request.operator, () => make({ name: file.name, bytes }));
        });
      });
    },
    post(path, answer) {
      app.register(async (inner) => {
        guarded(inner);
        inner.post(path, (request, reply) => {
          const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
          return answer(form, request, reply);
        });
      });
    },
  };
}

function cameFrom({ headers: { referer, host } }: FastifyRequest): string {
  const page = referer !== undefined && URL.canParse(referer) ? new URL(referer) : null;
  return page?.host === host ? `${page?.pathname}${page?.search}` : SECTION;
}

function fieldOf(body: unknown, name: string): string | null {
  return body instanceof URLSearchParams ? body.get(name) : null;
}

function requestedBy(query: Query): RequestedAction | null {
  const action = lastValue(query, 'action');
  const target = lastValue(query, 'target') ?? '';
  switch (action) {
    case 'retry':
      return target === '' ? null : { action, invoiceId: target };
    case 'requeue':
    case 'discard':
      return target === '' ? null : { action, quarantineId: target };
    case 'publish':
    case 'pause':
    case 'resume':
      return { action };
    case 'acknowledge':
    case 'unquiet':
      return target === '' ? null : { action, key: target };
    case 'quiet': {
      const hours = Number(lastValue(query, 'hours'));
      const isValid = target !== '' && Number.isInteger(hours) && hours >= 1 && hours <= MAX_QUIET_HOURS;
      return isValid ? { action, key: target, hours } : null;
    }
    default:
      return null;
  }
}
