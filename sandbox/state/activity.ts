export interface ActivityLine {
  readonly sequence: number;
  readonly at: string;
  readonly kind: 'call' | 'invoice' | 'event' | 'delivery' | 'fault' | 'schedule';
  readonly message: string;
  readonly invoiceId: string | null;
}

const MAX_LINES = 2_000;

export class Activity {
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
  }

  after(sequence: number): readonly ActivityLine[] {
    return this.#lines.filter((line) => line.sequence > sequence);
  }
}
