/** Repeated work, done less often while it fails. */

/** Longest wait after a failure, in milliseconds. */
const MOST_WAIT_MS = 30_000;

/** Repeated work. At most one run is under way. */
export interface Pulse {
  start(): void;
  /** Does the work without waiting for its time. A run that is under way is followed by another one. */
  wake(): void;
  /** Starts the work anew and waits for it. Rejects with what it throws. */
  run(): Promise<void>;
  /** Ends the repetition, not the run that is under way. */
  stop(): void;
}

/**
 * @param work waits of 1, 2, 4 … 30 seconds follow its failures
 * @param intervalMs from the start of one run to the next
 */
export function createPulse(work: () => Promise<void>, intervalMs: number): Pulse {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let isStarted = false;
  let isWoken = false;
  let failures = 0;

  function schedule(ms: number): void {
    if (!isStarted) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      void begin().catch(() => {});
    }, ms);
    timer.unref();
  }

  function begin(): Promise<void> {
    running ??= runOnce();
    return running;
  }

  async function runOnce(): Promise<void> {
    const begin = performance.now();
    isWoken = false;
    try {
      await work();
      failures = 0;
    } catch (error) {
      failures += 1;
      throw error;
    } finally {
      running = null;
      schedule(isWoken ? 0 : waitAfter(failures, intervalMs - (performance.now() - begin)));
    }
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      schedule(0);
    },
    wake() {
      failures = 0;
      isWoken = running !== null;
      if (!isWoken) schedule(0);
    },
    async run() {
      if (running !== null) await running.catch(() => {});
      await begin();
    },
    stop() {
      isStarted = false;
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}

/** @param restMs of the interval */
function waitAfter(failures: number, restMs: number): number {
  return failures === 0 ? Math.max(0, restMs) : Math.min(1_000 * 2 ** (failures - 1), MOST_WAIT_MS);
}
