/** Splits long work into short tasks, between which the browser draws and handles input. */

/** Work that may be interrupted at each `yield`. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** A slow processor needs several times as long for the work between two yields. */
const SLICE_MS = 12;
const ITEMS_PER_STEP = 128;

/** Calls `visit` with each item, and yields regularly. */
export function* each<Item>(
  items: Iterable<Item>,
  visit: (item: Item, index: number) => void,
): Steps<undefined> {
  let index = 0;
  for (const item of items) {
    visit(item, index);
    index += 1;
    if (index % ITEMS_PER_STEP === 0) yield;
  }
}

/** Calls a function in a separate task, without the minimum delay of a timer. */
export function soon(call: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener('message', call);
  port1.start();
  port2.postMessage(null);
}

/** Does one slice of the work immediately and the rest in later tasks; short work has ended when it returns. */
export function runInSlices<Result>(steps: Steps<Result>, onEnd: (result: Result) => void): void {
  const end = performance.now() + SLICE_MS;
  do {
    const step = steps.next();
    if (step.done === true) {
      onEnd(step.value);
      return;
    }
  } while (performance.now() < end);
  soon(() => runInSlices(steps, onEnd));
}
