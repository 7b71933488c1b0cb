import { redisError } from './problems.ts';

/** How many commands may wait for their replies. */
export interface GateLimits {
  /** Commands under way at a time. */
  readonly capacity: number;
  /** Groups of commands that may queue for room; 0: groups without room are refused. */
  readonly queued: number;
}

/** Limits the number of commands in flight; the others wait in a queue. */
export interface Gate {
  /**
   * Resolves when there is room for this many commands; {@link Gate.leave} frees it. Never resolves for
   * commands that are no longer wanted by then.
   *
   * @throws RedisError when too many are waiting already
   */
  enter(count: number, isWanted: () => boolean): Promise<void>;
  leave(count: number): void;
}

export function createGate({ capacity, queued }: GateLimits): Gate {
  let inside = 0;
  let queue: { readonly count: number; readonly isWanted: () => boolean; readonly admit: () => void }[] = [];

  return {
    async enter(count, isWanted) {
      if (queue.length === 0 && inside + count <= capacity) {
        inside += count;
        return;
      }
      if (queue.length >= queued) queue = queue.filter((turn) => turn.isWanted());
      if (queue.length >= queued || count > capacity) throw redisError('TOOMANY');
      await new Promise<void>((admit) => queue.push({ count, isWanted, admit }));
    },
    leave(count) {
      inside -= count;
      for (let next = queue[0]; next !== undefined; next = queue[0]) {
        const isWanted = next.isWanted();
        if (isWanted && inside + next.count > capacity) return;
        queue.shift();
        if (!isWanted) continue;
        inside += next.count;
        next.admit();
      }
    },
  };
}
