/** What is going to happen and when, in virtual time: one thing after the other, so that a seed tells the whole story. */

/** Who has to be there for it: the `world` always is, the worker may be dead, the server away. */
export type Place = 'world' | 'server' | 'worker';

interface Item {
  readonly atMs: number;
  /** Things of one instant happen in the order in which they were planned. */
  readonly order: number;
  readonly place: Place;
  readonly happen: () => Promise<void>;
}

export interface Agenda {
  nowMs(): number;
  now(): Date;
  add(afterMs: number, place: Place, happen: () => Promise<void>): void;
  /** Nothing of that place happens before so much time has passed; what was planned is late. */
  hold(place: Place, forMs: number): void;
  /** Is called when the worker dies, unless `offRestart` came first. */
  onRestart(key: object, lost: () => void): void;
  offRestart(key: object): void;
  /** Drops what the worker had under way and tells whoever waits for it. */
  restart(): void;
  /** Makes the next thing happen. @returns false when nothing is planned up to `untilMs` */
  step(untilMs: number): Promise<boolean>;
}

export function createAgenda(startMs: number): Agenda {
  let items: Item[] = [];
  let nowMs = startMs;
  let order = 0;
  const held = new Map<Place, number>();
  const lost = new Map<object, () => void>();

  const dueAt = ({ atMs, place }: Item): number => Math.max(atMs, held.get(place) ?? 0);
  const earlier = (a: Item, b: Item): Item =>
    dueAt(a) < dueAt(b) || (dueAt(a) === dueAt(b) && a.order < b.order) ? a : b;

  return {
    nowMs: () => nowMs,
    now: () => new Date(nowMs),
    add(afterMs, place, happen) {
      order += 1;
      items.push({ atMs: nowMs + Math.max(afterMs, 0), order, place, happen });
    },
    hold(place, forMs) {
      held.set(place, Math.max(held.get(place) ?? 0, nowMs + forMs));
    },
    onRestart: (key, listener) => void lost.set(key, listener),
    offRestart: (key) => void lost.delete(key),
    restart() {
      items = items.filter(({ place }) => place !== 'worker');
      const listeners = [...lost.values()];
      lost.clear();
      for (const listener of listeners) listener();
    },
    async step(untilMs) {
      const next = items.length === 0 ? null : items.reduce(earlier);
      if (next === null || dueAt(next) > untilMs) {
        nowMs = Math.max(nowMs, untilMs);
        return false;
      }
      items.splice(items.indexOf(next), 1);
      nowMs = Math.max(nowMs, dueAt(next));
      await next.happen();
      return true;
    },
  };
}
