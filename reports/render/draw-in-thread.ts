import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ChartOption } from './chart-options.ts';

export interface DrawingRequest {
  readonly option: ChartOption;
  readonly width: number;
  readonly height: number;
  readonly title: string;
}

export interface NumberedRequest extends DrawingRequest {
  readonly id: number;
}

export type DrawingResult =
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

export function drawInThread(request: DrawingRequest): Promise<string> {
  thread ??= startThread();
  const { worker, waiting } = thread;
  drawings += 1;
  const id = drawings;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.ref();
    worker.postMessage({ id, ...request } satisfies NumberedRequest);
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
  worker.on('message', (drawn: DrawingResult) => {
    const waiting = started.waiting.get(drawn.id);
    started.waiting.delete(drawn.id);
    if ('svg' in drawn) waiting?.resolve(drawn.svg);
    else waiting?.reject(drawn.error);
    // An idle thread does not keep the process alive.
    if (started.waiting.size === 0) worker.unref();
  });
  worker.on('error', end);
  worker.on('exit', () => end(new Error('The thread that draws charts ended.')));
  return started;
}
