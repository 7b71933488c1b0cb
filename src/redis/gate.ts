import { redisError } from './problems.ts';

/** How many commands may wait for their replies. */
export interface GateLimits {
  /** Commands under way at a time. */
  readonly capacity: number;
  /** Groups of commands that may queue for room; 0: those that find none are refused. */
  readonly queued: number;
}

/** Lets a limited number of commands through at a time; the rest queue in the order in which they came. */
export interface Gate {
  /**
   * Resolves when there is room for this many commands, which {@link Gate.leave} gives back. Never resolves for
   * commands that nobody wants any more by then.
   *
   * @throws RedisError when too many wait already
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
