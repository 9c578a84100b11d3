/** Counts deliveries that are under way or scheduled, so that they can be waited for, and stopped. */
import { setMaxListeners } from 'node:events';

export class UnderWay {
  #stopping = patientController();
  #count = 0;
  readonly #awaitingIdle: (() => void)[] = [];

  /** Aborts when all of them are to stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** After a stop, for those to come. */
  goOn(): void {
    this.#stopping = patientController();
  }

  /** Resolves when there is none. */
  async idle(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#awaitingIdle.push(resolve));
  }

  /** To be followed by `track`, or `ended`. */
  begun(): void {
    this.#count += 1;
  }

  /** @throws what the delivery threw, unless that is the stop's doing: a defect, which ends the process */
  async track(delivering: Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await delivering;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.ended();
    }
  }

  ended(): void {
    this.#count -= 1;
    if (this.#count === 0) for (const go of this.#awaitingIdle.splice(0)) go();
  }
}

/** Every delivery under way listens to it; thousands are no leak. */
function patientController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
