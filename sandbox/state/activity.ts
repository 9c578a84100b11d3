import { EventEmitter } from 'node:events';

export interface ActivityLine {
  readonly sequence: number;
  readonly at: string;
  readonly kind: 'call' | 'invoice' | 'event' | 'delivery' | 'fault' | 'schedule';
  readonly message: string;
  readonly invoiceId: string | null;
}

const MAX_LINES = 2_000;

export class Activity {
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  readonly #lines: ActivityLine[] = [];
  #sequence = 0;
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  add(kind: ActivityLine['kind'], message: string, invoiceId: string | null = null): void {
    this.#sequence += 1;
    const line = { sequence: this.#sequence, at: this.#now().toISOString(), kind, message, invoiceId };
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.splice(0, MAX_LINES / 2);
    this.#emitter.emit('line', line);
  }

  /** 0 when there is none. */
  get sequence(): number {
    return this.#sequence;
  }

  after(sequence: number): readonly ActivityLine[] {
    return this.#lines.filter((line) => line.sequence > sequence);
  }

  follow(callback: (line: ActivityLine) => void): () => void {
    this.#emitter.on('line', callback);
    return () => void this.#emitter.off('line', callback);
  }
}
