/** Converts Celery's events about workers (`worker-*`) to changes. */
import type { WorkerChange } from '../../../history/history.ts';
import { type CeleryEvent, workerName } from './events.ts';

/**
 * Converts a `worker-*` event.
 *
 * @returns `null` for events that do not matter here (`worker-elect`), and without a time or a name
 */
export function workerChangeOf(event: CeleryEvent): WorkerChange | null {
  const type = changeTypeOf(event.type);
  const hostname = workerName(event);
  const { timestamp, freq, active, processed, loadavg, pid, sw_ident: ident, sw_ver: version } = event;
  if (type === null || hostname === undefined || typeof timestamp !== 'number') return null;
  // A heartbeat sent in answer to the control command `heartbeat` has no figures and a wrong `freq`.
  const forced = type === 'heartbeat' && active === undefined && processed === undefined;
  return {
    hostname,
    type,
    time: timestamp * 1000,
    ...(typeof freq === 'number' && freq > 0 && !forced ? { interval: freq } : {}),
    ...(typeof pid === 'number' ? { pid } : {}),
    ...(typeof active === 'number' ? { active } : {}),
    ...(typeof processed === 'number' ? { processed } : {}),
    ...(isNumbers(loadavg) ? { loadAverage: loadavg } : {}),
    ...(typeof ident === 'string'
      ? { software: typeof version === 'string' ? `${ident} ${version}` : ident }
      : {}),
  };
}

function changeTypeOf(type: unknown): WorkerChange['type'] | null {
  if (type === 'worker-heartbeat') return 'heartbeat';
  if (type === 'worker-online') return 'online';
  return type === 'worker-offline' ? 'offline' : null;
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}
