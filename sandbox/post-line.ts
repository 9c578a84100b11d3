/** The connections to one partner endpoint in a burst, and what waits for one of them. */
import { CONNECTIONS, type Destination } from './delivery-request.js';
import { PostConnection } from './post-connection.js';
import type { PostResult } from './post-once.js';

export interface Post {
  /** The request, a character for each byte; asked for once there is a connection. */
  readonly request: () => string;
  /** @param startedMs on the clock of `performance` */
  readonly whenOver: (result: PostResult, startedMs: number) => void;
}

export class PostLine {
  readonly #destination: Destination;
  readonly #timeoutMs: number;
  readonly #free: PostConnection[] = [];
  readonly #waiting: Post[] = [];
  #connections = 0;

  constructor(destination: Destination, timeoutMs: number) {
    this.#destination = destination;
    this.#timeoutMs = timeoutMs;
  }

  /** As soon as there is a free connection. */
  send(post: Post): void {
    const connection = this.#free.pop() ?? this.#another();
    if (connection === null) this.#waiting.push(post);
    else this.#send(post, connection);
  }

  #another(): PostConnection | null {
    if (this.#connections === CONNECTIONS) return null;
    this.#connections += 1;
    return new PostConnection(this.#destination, this.#timeoutMs);
  }

  #send({ request, whenOver }: Post, connection: PostConnection): void {
    const startedMs = performance.now();
    connection.post(request(), (result) => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(connection);
      else this.#send(next, connection);
      whenOver(result, startedMs);
    });
  }
}
