/**
 * The engines that tests start: those of this machine, or those of a newer Debian that `test/engines/make.sh` has laid
 * out, if TASK_MONITOR_ENGINES names it (`trixie`, `sid`). TASK_MONITOR_VALKEY=1 takes Valkey in place of Redis.
 */
import { existsSync } from 'node:fs';

const release = process.env.TASK_MONITOR_ENGINES ?? '';
const folder = new URL(`../../.cache/engines/${release}/bin/`, import.meta.url).pathname;
if (release !== '' && !existsSync(folder)) {
  throw new Error(`There are no engines of ${release}. Make them: sh test/engines/make.sh ${release}`);
}

/** Path of a program of the chosen engines; `null`: this machine's own are used. */
export function engineProgram(name: string): string | null {
  return release === '' ? null : folder + name;
}

/** Whether Valkey runs where tests ask for Redis. */
const isValkey = process.env.TASK_MONITOR_VALKEY === '1';

/** The package of the server that tests use as Redis. */
export const REDIS_PACKAGE: string = isValkey ? 'valkey-server' : 'redis-server';

/** The server that tests use as Redis: REDIS_SERVER_BIN, or the one on the path. */
export const REDIS: string = engineProgram(REDIS_PACKAGE) ?? process.env.REDIS_SERVER_BIN ?? REDIS_PACKAGE;

/** The Python that has Celery: TASK_MONITOR_PYTHON, or Debian's. */
export const PYTHON: string =
  engineProgram('python3') ?? process.env.TASK_MONITOR_PYTHON ?? '/usr/bin/python3';
