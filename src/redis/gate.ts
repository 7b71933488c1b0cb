import { redisError } from './problems.ts';

/** Lets so much through at a time; the rest waits in the order in which it came. */
export interface Gate {
  /**
   * Resolves when there is room for this much, which {@link Gate.leave} is then to be told of; never for
   * what is not wanted any more by then.
   *
   * @throws RedisError when too many wait already
   */
  enter(weight: number, isWanted: () => boolean): Promise<void>;
  leave(weight: number): void;
}

/** Waits that may stand in line. */
const MOST_WAITING = 2_000;

/** @param capacity something heavier passes alone */
export function createGate(capacity: number): Gate {
  let inside = 0;
  let line: { readonly weight: number; readonly isWanted: () => boolean; readonly admit: () => void }[] = [];

  function fits(weight: number): boolean {
    return inside === 0 || inside + weight <= capacity;
  }

  return {
    async enter(weight, isWanted) {
      if (line.length >= MOST_WAITING) line = line.filter((turn) => turn.isWanted());
      if (line.length >= MOST_WAITING) throw redisError('TOOMANY');
      if (line.length > 0 || !fits(weight)) {
        await new Promise<void>((admit) => line.push({ weight, isWanted, admit }));
      } else {
        inside += weight;
      }
    },
    leave(weight) {
      inside -= weight;
      while (line[0] !== undefined && (fits(line[0].weight) || !line[0].isWanted())) {
        const turn = line.shift();
        if (!turn?.isWanted()) continue;
        inside += turn.weight;
        turn.admit();
      }
    },
  };
}
