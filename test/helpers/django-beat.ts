/** The Django project `test/celery/app/django_beat.py`, with the real tables of django-celery-beat. */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { CelerySettings } from '../../src/celery.ts';
import { PYTHON } from './engines.ts';

const FOLDER = new URL('../celery/app/', import.meta.url).pathname;
const FIND =
  "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ['django_celery_beat', 'psycopg2', 'MySQLdb'])))";

/** Why tests that need django-celery-beat cannot run here; `null` when they can. */
export const djangoBeatMissing: string | null =
  spawnSync(PYTHON, ['-c', FIND]).status === 0
    ? null
    : 'install python3-django-celery-beat, python3-psycopg2 and python3-mysqldb';

/** The project's settings. */
export interface DjangoProject {
  /** As Django's `DATABASES` has it. */
  readonly database: Readonly<Record<string, string | number>>;
  /** More installed apps. */
  readonly apps?: readonly string[];
  /** `TIME_ZONE`. Default UTC. */
  readonly timezone?: string;
  /** `USE_TZ`. Default true. */
  readonly use_tz?: boolean;
  /** `DJANGO_CELERY_BEAT_TZ_AWARE`. Default true. */
  readonly tz_aware?: boolean;
  /** `CELERY_TIMEZONE`. Default UTC. */
  readonly app_timezone?: string;
  /** More settings of the Celery app. */
  readonly celery?: CelerySettings;
}

/** Runs a command of the project: `migrate`, `fill`, `soon`, `due`, `many` or `run`. @returns what it prints */
export async function runDjango(project: DjangoProject, ...command: readonly string[]): Promise<unknown> {
  const env = { ...process.env, DJANGO_CONFIG: JSON.stringify(project), PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)(PYTHON, ['django_beat.py', ...command], { cwd: FOLDER, env });
  return JSON.parse(stdout);
}
