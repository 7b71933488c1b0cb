/** Clean-up at the end of the process that runs tests. It serves many files, and may end in the middle of one. */
const cleanups = new Set<() => void>();

/** Runs this when the process ends. @returns forgets it */
export function atProcessEnd(cleanup: () => void): () => void {
  if (cleanups.size === 0) {
    process.on('exit', cleanUp);
    // Vitest ends a worker so, and Node then emits no exit.
    process.on('SIGTERM', leave);
  }
  cleanups.add(cleanup);
  return () => {
    cleanups.delete(cleanup);
    if (cleanups.size > 0) return;
    process.off('exit', cleanUp);
    process.off('SIGTERM', leave);
  };
}

function cleanUp(): void {
  for (const cleanup of cleanups) cleanup();
}

function leave(): void {
  process.exit(143);
}
