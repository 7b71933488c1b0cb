/**
 * Milliseconds of CPU that this process has used. What a test computes is measured by this and not by the
 * clock: others may be at work on the same machine.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
