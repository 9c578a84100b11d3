import type { Command } from 'commander';
import { version } from '../../lib/runtime.ts';
import { explainPublished, explanationsAsJson } from '../explanation.ts';
import { type Run, seconds, verb } from '../verb.ts';

export function command(): Command {
  return verb(
    'mcp',
    'Serves reports, shipments and definitions to an assistant with the Model Context Protocol, over stdin and stdout. Read-only.',
    'billsync mcp --data-dir /var/lib/billsync',
  )
    .option('--timeout <seconds>', 'stop a request after this time', seconds, 60)
    .run(async ({ settings, output, flags }: Run<{ readonly timeout: number }>) => {
      const [{ StdioServerTransport }, { createAssistantServer }, { publishedPath }] = await Promise.all([
        import('@modelcontextprotocol/server/stdio'),
        import('../../finance/assistants/assistant-server.ts'),
        import('../published.ts'),
      ]);
      const databasePath = publishedPath(settings);
      const server = createAssistantServer({
        ...{ databasePath, version: version(), timeLimitMs: flags.timeout * 1000 },
        explain: async (trackingNumber) =>
          explanationsAsJson(await explainPublished(settings, trackingNumber)),
      });
      const closed = new Promise<void>((resolve) => {
        server.server.onclose = resolve;
      });
      await server.connect(new StdioServerTransport());
      output.note('Answering on stdin and stdout, until stdin ends.');
      await closed;
    });
}
