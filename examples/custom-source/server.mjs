// The monitor of a queue of your own, here jobs in an array: node examples/custom-source/server.mjs
// PORT: where it listens. For a queue in a database, see pg-boss.mjs.
import express from 'express';
import { createMonitorRouter, selectTasks, summarizeTasks } from 'express-task-monitor';
import { jobs, work } from './queue.mjs';

const { PORT = 3000 } = process.env;

const STATES = { waiting: 'PENDING', running: 'STARTED', done: 'SUCCESS', broken: 'FAILURE' };

/** A job in the monitor's terms. What a queue does not know is left out. */
const toTask = (job) => ({
  id: String(job.number),
  name: job.type,
  state: STATES[job.status],
  kwargs: job.data,
  sent: job.addedAt,
  started: job.startedAt,
  finished: job.endedAt,
  timestamp: job.endedAt ?? job.startedAt ?? job.addedAt,
  runtime: job.endedAt && (job.endedAt - job.startedAt) / 1000,
  exception: job.problem,
  groupId: job.batch,
});

const tasks = {
  name: 'jobs',
  listTasks: (query) => selectTasks(jobs.map(toTask), query),
  getTaskStats: (query) => summarizeTasks(jobs.map(toTask), query),
  getTask: (id) => jobs.map(toTask).find((task) => task.id === id) ?? null,
  /** The workflow of a job is its batch. */
  getTaskTree(id) {
    const all = jobs.map(toTask);
    const task = all.find((one) => one.id === id);
    return task ? { rootId: id, tasks: all.filter(({ groupId }) => groupId === task.groupId) } : null;
  },
};

const monitor = createMonitorRouter({
  sources: { tasks },
  // Only this machine can reach it. In your app: authorize: (request) => request.user?.isAdmin
  authorize: false,
});

const app = express();
app.use('/monitor', monitor);
const server = app.listen(PORT, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`http://127.0.0.1:${server.address().port}/monitor/`);
});
work();

process.once('SIGTERM', async () => {
  server.close();
  server.closeAllConnections();
  await monitor.close();
});
