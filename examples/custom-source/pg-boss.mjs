// A source that shows the jobs of pg-boss 12, read with SQL from its tables:
//   createMonitorRouter({ sources: pgBossSources(process.env.DATABASE_URL) })
import { summarizeTasks } from 'express-task-monitor';
import pg from 'pg';

/** The states of pg-boss in the monitor's terms. */
const STATES = {
  created: 'PENDING',
  retry: 'RETRY',
  active: 'STARTED',
  completed: 'SUCCESS',
  cancelled: 'REVOKED',
  failed: 'FAILURE',
};

// The last change of a job, in UTC. It is cut to milliseconds, which is all that a Date has: a position with less than
// the table has would skip jobs.
const CHANGED =
  "date_trunc('milliseconds', coalesce(completed_on, started_on, created_on) AT TIME ZONE 'UTC')";

/** The index from which every list is read. Create it once, in a migration of your app. */
export const INDEX = `CREATE INDEX IF NOT EXISTS monitor_job ON pgboss.job (name, state, (${CHANGED}) DESC, id)`;

/** The columns of a job that a task needs. @param longest where long texts end, so that a list reads no megabytes */
const columns = (longest) => `id, name, state, retry_count, created_on, start_after, started_on, completed_on,
  ${CHANGED} AT TIME ZONE 'UTC' AS changed, left(data::text, ${longest}) AS data, left(output::text, ${longest}) AS output,
  left(output->>'message', ${longest}) AS message, left(output->>'stack', ${longest}) AS stack`;

function toTask(job) {
  const {
    id,
    name,
    state,
    created_on: sent,
    start_after: due,
    started_on: started,
    completed_on: finished,
  } = job;
  const hasFailed = state === 'failed' || state === 'retry';
  return {
    id,
    name,
    queue: name,
    state: STATES[state],
    sent,
    started,
    finished,
    timestamp: job.changed,
    eta: due > sent ? due : null,
    runtime: started && finished && (finished - started) / 1000,
    runtimeSource: 'derived',
    waitSeconds: started >= due ? (started - due) / 1000 : null,
    retries: job.retry_count,
    kwargs: job.data,
    result: state === 'completed' ? job.output : null,
    exception: hasFailed ? (job.message ?? job.output) : null,
    traceback: hasFailed ? job.stack : null,
  };
}

// Each queue in each state: the index has their jobs in the order of time.
const WANTED = `(SELECT name FROM pgboss.queue WHERE name !~ '^__pgboss__'
    AND ($1::text[] = '{}' OR name = ANY ($1)) AND ($2::text[] = '{}' OR name = ANY ($2))) AS queue
  CROSS JOIN unnest($3::pgboss.job_state[]) AS wanted (state)`;

const wantedOf = ({ names, queues, states }) => [
  names,
  queues,
  Object.keys(STATES).filter((state) => states.length === 0 || states.includes(STATES[state])),
];

// Takes the first jobs of each queue in each state, and merges them.
const page = (order) => `
  SELECT job.* FROM ${WANTED}
  CROSS JOIN LATERAL (
    SELECT ${columns(1_000)} FROM pgboss.job
    WHERE job.name = queue.name AND job.state = wanted.state AND ${CHANGED} >= $4 AND ${CHANGED} < $5
      AND ${CHANGED} ${order === 'asc' ? '>=' : '<='} $6 AND (${CHANGED} <> $6 OR job.id::text > $7)
    ORDER BY ${CHANGED} ${order}, job.id LIMIT $8
  ) AS job
  ORDER BY changed ${order}, job.id LIMIT $8`;

async function listTasks(pool, query) {
  const { since, until, after, order, limit } = query;
  const window = [since?.toISOString() ?? '-infinity', until?.toISOString() ?? 'infinity'];
  const start = after ? new Date(after.key).toISOString() : order === 'asc' ? '-infinity' : 'infinity';
  // One more than the page shows whether there is another.
  const values = [...wantedOf(query), ...window, start, after?.id ?? '', limit + 1];
  const { rows } = await pool.query(page(order), values);
  const tasks = rows.slice(0, limit).map(toTask);
  const last = rows.length > limit ? tasks.at(-1) : undefined;
  return { tasks, next: last ? { key: last.timestamp.getTime(), id: last.id } : null, total: null };
}

// Sums of the jobs that changed in a window: by name, by state, by step of the chart, and of all.
const SUMS = `
  SELECT job.name, job.state, job.step, count(*)::int AS count,
    (count(*) FILTER (WHERE job.state = 'completed'))::int AS succeeded,
    (count(*) FILTER (WHERE job.state = 'failed'))::int AS failed,
    percentile_disc('{0.5, 0.95, 0.99}'::float8[]) WITHIN GROUP (ORDER BY job.run) AS runs,
    percentile_disc('{0.5, 0.95, 0.99}'::float8[]) WITHIN GROUP (ORDER BY job.wait) AS waits,
    (SELECT min(nullif(deletion_seconds, 0)) FROM pgboss.queue WHERE name !~ '^__pgboss__') AS kept_seconds
  FROM ${WANTED}
  CROSS JOIN LATERAL (
    SELECT name, state, (floor(extract(epoch FROM ${CHANGED}) / $6::int) * $6::int)::float8 AS step,
      extract(epoch FROM completed_on - started_on)::float8 AS run,
      CASE WHEN started_on >= start_after THEN extract(epoch FROM started_on - start_after)::float8 END AS wait
    FROM pgboss.job
    WHERE job.name = queue.name AND job.state = wanted.state AND ${CHANGED} >= $4 AND ${CHANGED} < $5
  ) AS job
  GROUP BY GROUPING SETS ((job.name), (job.state), (job.step), ())
  ORDER BY count DESC, job.name`;

/** For jobs in memory, `summarizeTasks(jobs, query)` is all that this needs. */
async function getTaskStats(pool, query) {
  const { minutes, now, filter } = query;
  const { stepSeconds, series } = summarizeTasks([], query);
  const since = new Date(Math.max(now.getTime() - minutes * 60_000, filter.since ?? 0));
  const until = new Date(Math.min(now.getTime() + 1, filter.until ?? Number.POSITIVE_INFINITY));
  const values = [...wantedOf(filter), since.toISOString(), until.toISOString(), stepSeconds];
  const { rows } = await pool.query(SUMS, values);
  const all = rows.find(({ name, state, step }) => name === null && state === null && step === null);
  // pg-boss deletes old jobs.
  const keptFrom = Date.now() - (all.kept_seconds ?? Number.POSITIVE_INFINITY) * 1_000;
  const bySteps = new Map(rows.filter(({ step }) => step !== null).map((row) => [row.step * 1_000, row]));
  const steps = series.map(({ t }) => {
    const sums = bySteps.get(t.getTime());
    return { t, ...countsOf(t >= keptFrom ? (sums ?? NOTHING) : UNKNOWN), ...durationsOf(sums ?? NOTHING) };
  });
  const known = steps.filter(({ t }) => t >= keptFrom);
  const sum = (figure) => known.reduce((total, step) => total + step[figure], 0);
  return {
    stepSeconds,
    series: steps,
    totals: {
      ...countsOf(known.length > 0 ? { succeeded: sum('succeeded'), failed: sum('failed') } : UNKNOWN),
      ...durationsOf(all),
    },
    states: Object.fromEntries(rows.flatMap(({ state, count }) => (state ? [[STATES[state], count]] : []))),
    names: rows
      .filter(({ name }) => name !== null)
      .slice(0, 50)
      .map(({ name, count, failed, ...sums }) => {
        const { runtimeP50, runtimeP95, waitP50, waitP95 } = durationsOf(sums);
        return { name, count, failed, runtimeP50, runtimeP95, waitP50, waitP95 };
      }),
    workers: [],
    queues: rows.flatMap(({ name }) => name ?? []),
  };
}

const NOTHING = { succeeded: 0, failed: 0, runs: null, waits: null };
const UNKNOWN = { succeeded: null, failed: null };

/** pg-boss does not note when jobs were received, and of retries only the last. */
const countsOf = ({ succeeded, failed }) => ({ received: null, succeeded, failed, retried: null });

function durationsOf({ runs, waits }) {
  const [runtimeP50 = null, runtimeP95 = null, runtimeP99 = null] = runs ?? [];
  const [waitP50 = null, waitP95 = null, waitP99 = null] = waits ?? [];
  return { runtimeP50, runtimeP95, runtimeP99, waitP50, waitP95, waitP99 };
}

async function getTask(pool, id) {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return null;
  // The primary key is (name, id). With LIMIT, PostgreSQL looks into it once for each queue.
  const { rows } = await pool.query(
    `SELECT job.* FROM pgboss.queue CROSS JOIN LATERAL
      (SELECT ${columns(100_000)} FROM pgboss.job WHERE job.name = queue.name AND job.id = $1 LIMIT 1) AS job`,
    [id],
  );
  return rows.length === 0 ? null : toTask(rows[0]);
}

/** pg-boss counts the jobs of each queue once a minute. */
async function listQueues(pool) {
  const { rows } = await pool.query(`
    SELECT name, queued_count, active_count, monitor_on,
      monitor_on - make_interval(secs => nullif(ready_oldest_seconds, 0)) AS oldest
    FROM pgboss.queue WHERE name !~ '^__pgboss__'`);
  return rows.map(({ name, monitor_on: asOf, ...queue }) => ({
    name,
    waiting: asOf && queue.queued_count,
    reserved: asOf && queue.active_count,
    consumers: null,
    oldestDueAt: queue.oldest,
    asOf,
  }));
}

/** @param connectionString of a role that may read the schema `pgboss` */
export function pgBossSources(connectionString) {
  const pool = new pg.Pool({
    connectionString,
    max: 4,
    connectionTimeoutMillis: 4_000,
    statement_timeout: 4_000,
  });
  // Without this, an idle connection that breaks would end the process.
  pool.on('error', () => {});
  let ended;
  return {
    tasks: {
      name: 'pg-boss',
      capabilities: {
        sorts: ['timestamp'],
        filters: ['states', 'names', 'queues', 'since', 'until'],
        search: false,
        total: false,
      },
      listTasks: (query) => listTasks(pool, query),
      getTaskStats: (query) => getTaskStats(pool, query),
      getTask: (id) => getTask(pool, id),
    },
    queues: { name: 'pg-boss', listQueues: () => listQueues(pool) },
    health: {
      name: 'pg-boss',
      checkBroker: () =>
        pool.query('SELECT 1').then(
          () => ({ ok: true }),
          () => ({ ok: false, error: 'PostgreSQL does not answer.' }),
        ),
    },
    close() {
      ended ??= pool.end();
      return ended;
    },
  };
}
