/** What faults do to a delivery on its way to the connection: it is dropped, delayed, doubled, or overtaken. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Moment, numberParam } from '../faults/fault-rule.ts';
import type { Faults } from '../faults/faults.ts';
import type { Delivery } from '../model.ts';

/** How a delivery goes on: so many times more than once, each after a pause. null when it is never sent. */
export type Detour = { readonly copies: number; readonly copyDelayMs: number } | null;

export class DeliveryDetours {
  readonly #faults: Faults;
  /** Lets go of a delivery that waits for a later event of its invoice; one at a time for each line. */
  readonly #held = new Map<string, () => void>();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** Resolves when the delivery may be sent. @throws what `signal` was aborted with */
  async take(delivery: Delivery, moment: Moment, signal: AbortSignal): Promise<Detour> {
    if (this.#faults.strike('drop', moment) !== null) return null;
    const duplicate = this.#faults.strike('duplicate', moment);
    const reorder = this.#faults.strike('reorder', moment);
    const delay = this.#faults.strike('delay', moment);
    if (delay !== null) await sleep(numberParam(delay, 'delayMs'), undefined, { signal });
    // One that comes while another waits is the later event: it overtakes.
    if (reorder !== null && !this.#held.has(lineOf(delivery))) {
      await this.#holdForLater(lineOf(delivery), numberParam(reorder, 'delayMs'), signal);
    }
    if (duplicate === null) return { copies: 0, copyDelayMs: 0 };
    return { copies: numberParam(duplicate, 'times'), copyDelayMs: numberParam(duplicate, 'delayMs') };
  }

  /** The end of a delivery lets an earlier one go that it has overtaken. */
  ended(delivery: Delivery): void {
    if (this.#held.size > 0) this.#held.get(lineOf(delivery))?.();
  }

  async #holdForLater(line: string, atMostMs: number, closing: AbortSignal): Promise<void> {
    const timer = new AbortController();
    this.#held.set(line, () => timer.abort());
    const signal = AbortSignal.any([timer.signal, closing]);
    await sleep(atMostMs, undefined, { signal }).catch(() => {});
    this.#held.delete(line);
    closing.throwIfAborted();
  }
}

/** Deliveries of one invoice to one registration: only among these there is an order to upset. */
function lineOf({ invoiceId, registrationId }: Delivery): string {
  return `${registrationId} ${invoiceId}`;
}
