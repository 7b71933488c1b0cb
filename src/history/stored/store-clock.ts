/**
 * The clock of the database, as far as this instance knows it. It decides who holds the lease and on which day a task
 * is first written, so instances agree even if their own clocks are wrong or jump.
 */

/** Times in milliseconds. */
export interface StoreClock {
  /** Time that only increases, whatever happens to the clock of this instance. Its origin has no meaning. */
  elapsed(): number;
  /** The clock of the database, since 1970; that of this instance as long as the database has not answered. */
  now(): number;
  /** Records what the clock of the database showed. @param askedAt {@link StoreClock.elapsed} before the question */
  learn(databaseNow: number, askedAt: number): void;
  /** A moment of {@link StoreClock.elapsed}, by the clock of the database. */
  databaseAt(elapsed: number): number;
  /** A moment of the clock of the database, as {@link StoreClock.elapsed}. */
  elapsedAt(database: number): number;
  /** By how much the clock of the database is ahead of that of this instance. */
  ahead(): number;
}

/**
 * @param own the clock of this instance, since 1970
 * @param monotonic Default `performance.now`
 */
export function createStoreClock(
  own: () => number,
  monotonic: () => number = performance.now.bind(performance),
): StoreClock {
  let offset: number | null = null;
  const offsetNow = (): number => offset ?? own() - monotonic();
  return {
    elapsed: () => Math.floor(monotonic()),
    now: () => monotonic() + offsetNow(),
    learn(databaseNow, askedAt) {
      // The answer was made at some time between the question and now.
      offset = databaseNow - (askedAt + monotonic()) / 2;
    },
    databaseAt: (elapsed) => elapsed + offsetNow(),
    elapsedAt: (database) => database - offsetNow(),
    ahead: () => monotonic() + offsetNow() - own(),
  };
}
