/**
 * One connection to a partner endpoint that posts one request after the other and is kept alive in between. It does
 * nothing else and so costs less than a general client, which is why a burst is sent over such.
 */
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { type Answer, AnswerReader } from './answer-reader.js';
import type { Destination } from './delivery-request.js';
import { answered, failed, type PostResult, tooLate } from './post-once.js';

type WhenOver = (result: PostResult) => void;

/** Whoever reads into it has read from it before anybody else does. */
const shared = Buffer.allocUnsafeSlow(64 * 1024);

export class PostConnection {
  readonly #destination: Destination;
  readonly #timeoutMs: number;
  /** Ends an exchange that takes too long, and a connection that had nothing to do for as long. */
  readonly #timer: NodeJS.Timeout;
  #socket: TLSSocket | null = null;
  #reader = new AnswerReader();
  /** Of the exchange under way. */
  #whenOver: WhenOver | null = null;
  #reusableUntil = 0;

  /** @param timeoutMs from a request to the last byte of its answer, connecting included */
  constructor(destination: Destination, timeoutMs: number) {
    this.#destination = destination;
    this.#timeoutMs = timeoutMs;
    this.#timer = setTimeout(() => this.#giveUp(), timeoutMs);
  }

  /** @param request its bytes, a character for each; one at a time */
  post(request: string, whenOver: WhenOver): void {
    this.#whenOver = whenOver;
    this.#reader = new AnswerReader();
    this.#timer.refresh();
    const socket = this.#socket;
    if (socket !== null && performance.now() < this.#reusableUntil) socket.write(request, 'latin1');
    else this.#connect(request);
  }

  #connect(request: string): void {
    this.#drop();
    const { host, port, trust } = this.#destination;
    const callback = (count: number) => {
      this.#heard(socket, shared.toString('latin1', 0, count));
      return true;
    };
    const options = {
      host,
      port,
      servername: isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
      ...trust,
      // Typed for plain sockets only; it saves the stream that would be between.
      onread: { buffer: shared, callback },
    };
    const socket = connect(options);
    this.#socket = socket;
    socket.setNoDelay(true);
    // Not before: the endpoint has proven by then that it is the one.
    socket.once('secureConnect', () => socket.write(request, 'latin1'));
    socket.on('error', (error) => this.#broken(socket, error));
    socket.once('end', () => this.#broken(socket, null));
    socket.once('close', () => this.#broken(socket, null));
  }

  #heard(socket: TLSSocket, bytes: string): void {
    if (socket !== this.#socket) return;
    if (this.#whenOver === null) {
      this.#drop();
      return;
    }
    try {
      const answer = this.#reader.push(bytes);
      if (answer !== null) this.#answered(answer);
    } catch (error) {
      this.#drop();
      this.#end(failed(error as Error));
    }
  }

  #broken(socket: TLSSocket, error: Error | null): void {
    if (socket !== this.#socket) return;
    const answer = error === null ? this.#reader.end() : null;
    this.#drop();
    if (answer !== null) this.#answered(answer);
    else this.#end(failed(error ?? new Error('The endpoint closed the connection before it had answered.')));
  }

  #giveUp(): void {
    this.#drop();
    this.#end(failed(tooLate(this.#timeoutMs)));
  }

  #answered({ status, body, reusableMs }: Answer): void {
    // What the endpoint has answered before it had all of it is not the beginning of another request.
    if (reusableMs > 0 && this.#socket?.writableLength === 0)
      this.#reusableUntil = performance.now() + reusableMs;
    else this.#drop();
    this.#end(answered(status, body));
  }

  #drop(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #end(result: PostResult): void {
    const whenOver = this.#whenOver;
    this.#whenOver = null;
    whenOver?.(result);
  }
}
