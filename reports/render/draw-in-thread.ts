/** Has charts drawn by one thread, which is started with the first of them and again after it ended. */

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Drawing } from './chart-options.ts';

export interface Wanted {
  readonly id: number;
  readonly drawing: Drawing;
}

export type Drawn =
  | { readonly id: number; readonly svg: string }
  | { readonly id: number; readonly error: Error };

interface Waiting {
  resolve(svg: string): void;
  reject(error: Error): void;
}

interface DrawingThread {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
}

let thread: DrawingThread | null = null;
let drawings = 0;

/** @returns the SVG. @throws what the library threw, or that the thread ended */
export function drawInThread(drawing: Drawing): Promise<string> {
  thread ??= startThread();
  const { worker, waiting } = thread;
  drawings += 1;
  const id = drawings;
  // Rows are for links, which the caller makes.
  const points = drawing.points.map((point) => ({ ...point, rows: [] }));
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.ref();
    worker.postMessage({ id, drawing: { ...drawing, points } } satisfies Wanted);
  });
}

function startThread(): DrawingThread {
  const worker = new Worker(new URL(`./draw-thread${extname(import.meta.filename)}`, import.meta.url));
  const started: DrawingThread = { worker, waiting: new Map() };
  const end = (error: Error): void => {
    if (thread === started) thread = null;
    for (const { reject } of started.waiting.values()) reject(error);
    started.waiting.clear();
  };
  worker.on('message', (drawn: Drawn) => {
    const asked = started.waiting.get(drawn.id);
    started.waiting.delete(drawn.id);
    if ('svg' in drawn) asked?.resolve(drawn.svg);
    else asked?.reject(drawn.error);
    // An idle thread keeps no process from its end.
    if (started.waiting.size === 0) worker.unref();
  });
  worker.on('error', end);
  worker.on('exit', () => end(new Error('The thread that draws charts ended.')));
  return started;
}
