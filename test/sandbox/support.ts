import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { Agent, type Dispatcher, request } from 'undici';
import { createTlsMaterial } from '../../sandbox/security/tls.ts';
import type { SandboxAccount } from '../../sandbox/service.ts';
import { listen } from '../support/listen.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}

export interface Receiver {
  readonly url: string;
  readonly caPem: string;
  readonly requests: ReceivedRequest[];
  /** Chooses the answer of each request by its number, from 1; null never answers. */
  answer: (number: number) => { status: number; headers?: Record<string, string> } | null;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const { caPem, certPem, keyPem } = await createTlsMaterial();
  const requests: ReceivedRequest[] = [];
  const server = createServer({ cert: certPem, key: keyPem }, async (incoming, outgoing) => {
    const at = performance.now();
    const body = await text(incoming).catch(() => null);
    if (body === null) return;
    const { method = '', url: path = '', headers } = incoming;
    requests.push({ method, path, headers, body, at });
    const chosen = receiver.answer(requests.length);
    if (chosen === null) return;
    outgoing.writeHead(chosen.status, chosen.headers).end('{"status":"ok"}');
  });
  const receiver: Receiver = {
    url: `https://127.0.0.1:${await listen(server)}/hooks`,
    caPem,
    requests,
    answer: () => ({ status: 200 }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

export class SpecClient {
  readonly #account: SandboxAccount;
  readonly #agent: Agent;

  constructor(account: SandboxAccount) {
    this.#account = account;
    this.#agent = new Agent({ connect: { ca: account.caPem } });
  }

  async send(
    url: string,
    options: { method?: Dispatcher.HttpMethod; headers?: Headers; body?: string } = {},
  ): Promise<Answer> {
    const { statusCode, headers, body } = await request(url, { dispatcher: this.#agent, ...options });
    const bytes = Buffer.from(await body.arrayBuffer());
    return { status: statusCode, headers, bytes, text: bytes.toString('utf8') };
  }

  basic(id = this.#account.clientId, secret = this.#account.clientSecret): string {
    return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
  }

  requestToken(headers: Headers = {}, body = 'grant_type=client_credentials'): Promise<Answer> {
    const usual = { authorization: this.basic(), 'content-type': 'application/x-www-form-urlencoded' };
    return this.send(`${this.#account.authUrl}/oauth/token`, {
      method: 'POST',
      headers: { ...usual, ...headers },
      body,
    });
  }

  async token(): Promise<string> {
    return (JSON.parse((await this.requestToken()).text) as { access_token: string }).access_token;
  }

  ping(headers: Headers): Promise<Answer> {
    return this.send(`${this.#account.baseUrl}/api/v1/deliveryexperience/ping`, { headers });
  }

  async invoice(invoiceId: string, action: 'details' | 'regenerate' | 'export-csv'): Promise<Answer> {
    const path =
      action === 'details' ? '' : action === 'regenerate' ? '/regenerate-presigned-url' : '/export-csv';
    return this.send(`${this.#account.baseUrl}/api/v1/billing/invoices/${invoiceId}${path}`, {
      method: action === 'regenerate' ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${await this.token()}` },
    });
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

export interface Envelope {
  readonly metadata: Record<string, unknown>;
  readonly payload: Record<string, unknown>;
}

export function envelope({ body }: Pick<ReceivedRequest, 'body'>): Envelope {
  return JSON.parse(body) as Envelope;
}
