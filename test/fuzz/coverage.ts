/** How much of the readers' code a run reaches, by V8's own counts. */
import { type Profiler, Session } from 'node:inspector/promises';

/** Counts from when it was opened. */
export interface Coverage {
  /** By path behind `src/`: the share of the code within functions that ran, 0 to 1; `null` where none is known. */
  take(files: readonly string[]): Promise<ReadonlyMap<string, number | null>>;
}

export async function openCoverage(): Promise<Coverage> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    async take(files) {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      session.disconnect();
      return new Map(
        files.map((file) => {
          // A file may have been loaded more than once, for another version of Express.
          const scripts = result.filter(({ url }) => url.endsWith(`/src/${file}`));
          const shares = scripts.map(shareOf).filter((share) => share !== null);
          return [file, shares.length === 0 ? null : Math.max(...shares)];
        }),
      );
    },
  };
}

/** The outermost function is the module itself, which ran before the counting began. */
function shareOf({ functions }: Profiler.ScriptCoverage): number | null {
  const length = Math.max(0, ...functions.flatMap(({ ranges }) => ranges.map(({ endOffset }) => endOffset)));
  const counts = new Int8Array(length).fill(-1);
  const ranges = functions.slice(1).flatMap((each) => each.ranges);
  // What lies within another range comes behind it and says more.
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of ranges)
    counts.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const [reached, missed] = [1, 0].map((wanted) =>
    counts.reduce((sum, count) => sum + Number(count === wanted), 0),
  );
  const all = (reached ?? 0) + (missed ?? 0);
  return all === 0 ? null : (reached ?? 0) / all;
}
