import { basename } from 'node:path';
import type { FastifyReply } from 'fastify';
import type { PluginHost, PluginPages } from '../../dashboard/plugin-pages.ts';
import { BillsyncError } from '../../lib/errors.ts';
import { userStore } from '../../lib/user-store.ts';
import { grouped, instantLabel } from '../../reports/render/labels.ts';
import { templatesIn } from '../../reports/render/templates.ts';
import {
  GIVEN_FILES,
  type GivenFile,
  NO_VERSION,
  replacedBelow,
  replacedFiles,
  storeGivenFile,
  versionOf,
} from './given-files.ts';

const ADDRESS = '/files';
const eta = templatesIn(new URL('./views', import.meta.url));
const render = (view: 'files' | 'file', values: object): string =>
  eta.render(`./${view}`, { ...values, grouped, instant: instantLabel });

export interface FilePagesOptions {
  readonly dataDir: string;
  readonly databasePath: string;
  readonly now?: () => Date;
}

export function filePages({ dataDir, databasePath, now = () => new Date() }: FilePagesOptions): PluginPages {
  async function list(host: PluginHost, reply: FastifyReply): Promise<FastifyReply> {
    const store = await userStore(dataDir);
    const sizes = await Promise.all(GIVEN_FILES.map(({ path }) => store.read(path)));
    const files = GIVEN_FILES.map((file, at) => ({ ...file, size: sizes[at]?.length ?? null }));
    const data = { files: files.map(({ name, title, path, size }) => ({ name, title, path, size })) };
    return host.send(reply, { title: 'Files', html: render('files', { files }), data });
  }

  async function show(host: PluginHost, reply: FastifyReply, name: string): Promise<FastifyReply> {
    const file = named(name);
    if (file === undefined) {
      reply.callNotFound();
      return reply;
    }
    const store = await userStore(dataDir);
    const bytes = await store.read(file.path);
    const checked = bytes === null ? [] : await check(file, basename(file.path), bytes);
    const isWrong = checked instanceof BillsyncError;
    const data = {
      ...{ name: file.name, path: file.path, size: bytes?.length ?? null },
      problems: isWrong ? checked.message.split('\n') : [],
      ...{ found: isWrong ? [] : checked, replaced: await replacedFiles(store, file.path) },
    };
    const page = { ...data, file, canAct: host.operators !== null, noOperator: host.noOperator };
    return host.send(reply, { title: file.title, html: render('file', page), data });
  }

  /** A file that was stored before may no longer pass. */
  const check = (file: GivenFile, path: string, bytes: Uint8Array) =>
    file.check({ path, bytes }, databasePath).catch((error: unknown) => {
      if (error instanceof BillsyncError) return error;
      throw error;
    });

  async function offered(file: GivenFile, bytes: Uint8Array | null, consequences: readonly string[]) {
    const verb = bytes === null ? 'Remove' : 'Store';
    const store = await userStore(dataDir);
    const replaces = versionOf(await store.read(file.path));
    return {
      described: {
        title: `${verb} ${file.title.toLowerCase()}`,
        consequences: [
          ...consequences,
          ...(replaces !== NO_VERSION ? ['The present file stays available under "Earlier contents".'] : []),
        ],
        ...{ label: verb, reasonLabel: 'Why', isReasonOptional: true },
        command: `user-files ${bytes === null ? 'remove' : 'put'}`,
        ...{ target: [file.path], back: `${ADDRESS}/${file.name}` },
      },
      async perform() {
        await storeGivenFile(store, file.path, bytes, { replaces, now: now() });
        return { detail: `${bytes === null ? 'Removed' : 'Stored'} ${file.path}.`, next: null };
      },
    };
  }

  return {
    ...{ address: ADDRESS, label: 'Files', icon: 'upload', group: 'Month end', rows: null },
    register(app, host) {
      app.get(ADDRESS, (_request, reply) => list(host, reply));
      app.get<Named>(`${ADDRESS}/:name`, (request, reply) => show(host, reply, request.params.name));
      app.get<Named>(`${ADDRESS}/:name/download`, async (request, reply) => {
        const file = named(request.params.name);
        if (file === undefined) return reply.callNotFound();
        const which = request.query.which ?? null;
        const store = await userStore(dataDir);
        const isKept = which !== null && (await replacedFiles(store, file.path)).includes(which);
        const body =
          which === 'template'
            ? file.template
            : which === null || isKept
              ? await store.read(isKept ? `${replacedBelow(file.path)}${which}` : file.path)
              : null;
        if (body === null) return reply.callNotFound();
        return reply
          .type('application/octet-stream')
          .header('content-disposition', `attachment; filename="${basename(file.path)}"`)
          .send(body);
      });
      const { operators } = host;
      for (const file of operators === null ? [] : GIVEN_FILES) {
        operators?.upload(`${ADDRESS}/${file.name}`, async ({ name, bytes }) => {
          const consequences = await file.check({ path: name, bytes }, databasePath);
          return offered(file, bytes, consequences);
        });
        operators?.post(`${ADDRESS}/${file.name}/remove`, (_form, request, reply) =>
          operators.offer(reply, request.operator, () =>
            offered(file, null, ['Reports are then without it.']),
          ),
        );
      }
    },
  };
}

interface Named {
  readonly Params: { readonly name: string };
  readonly Querystring: { readonly which?: string };
}

function named(name: string): GivenFile | undefined {
  return GIVEN_FILES.find((file) => file.name === name);
}
