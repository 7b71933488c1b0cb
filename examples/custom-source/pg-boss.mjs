// A source that shows the jobs of pg-boss 12, read with SQL from its tables. start.mjs runs it.
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

// Takes the first jobs of each queue in each state from the index, and merges them.
const page = (order) => `
  SELECT job.* FROM (SELECT name FROM pgboss.queue WHERE name !~ '^__pgboss__'
    AND ($1::text[] = '{}' OR name = ANY ($1)) AND ($2::text[] = '{}' OR name = ANY ($2))) AS queue
  CROSS JOIN unnest($3::pgboss.job_state[]) AS wanted (state)
  CROSS JOIN LATERAL (
    SELECT ${columns(1_000)} FROM pgboss.job
    WHERE job.name = queue.name AND job.state = wanted.state AND ${CHANGED} >= $4 AND ${CHANGED} < $5
      AND ${CHANGED} ${order === 'asc' ? '>=' : '<='} $6 AND (${CHANGED} <> $6 OR job.id::text > $7)
    ORDER BY ${CHANGED} ${order}, job.id LIMIT $8
  ) AS job
  ORDER BY changed ${order}, job.id LIMIT $8`;

async function listTasks(pool, { states, names, queues, since, until, after, order, limit }) {
  const wanted = Object.keys(STATES).filter((state) => states.length === 0 || states.includes(STATES[state]));
  const window = [since?.toISOString() ?? '-infinity', until?.toISOString() ?? 'infinity'];
  const start = after ? new Date(after.key).toISOString() : order === 'asc' ? '-infinity' : 'infinity';
  // One more than the page shows whether there is another.
  const values = [names, queues, wanted, ...window, start, after?.id ?? '', limit + 1];
  const { rows } = await pool.query(page(order), values);
  const tasks = rows.slice(0, limit).map(toTask);
  const last = rows.length > limit ? tasks.at(-1) : undefined;
  return { tasks, next: last ? { key: last.timestamp.getTime(), id: last.id } : null, total: null };
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
