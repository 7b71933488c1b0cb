import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second of the times in /proc; the same on every Linux. */
const TICKS = 100;

/** CPU seconds of a process, its running children and those that have ended. Linux only. */
export function cpuOf(pid: number): number {
  const times = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      times.set(Number(name), { parent: Number(fields[1]), ticks });
    } catch {
      // It has just ended.
    }
  }
  const ticksOf = (id: number): number =>
    [...times].reduce(
      (sum, [child, { parent }]) => sum + (parent === id ? ticksOf(child) : 0),
      times.get(id)?.ticks ?? 0,
    );
  return ticksOf(pid) / TICKS;
}
