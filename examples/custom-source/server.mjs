// A queue of your own, here an array of jobs, behind the monitor: node examples/custom-source/server.mjs
import express from 'express';
import { createMonitorRouter, selectTasks, summarizeTasks } from 'express-task-monitor';
import { addJob, jobs, work } from './jobs.mjs';

const STATES = { waiting: 'PENDING', running: 'STARTED', done: 'SUCCESS', broken: 'FAILURE' };

/** The app's job in the monitor's terms. Unknown fields are left out. */
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
  result: job.output,
  exception: job.problem,
  groupId: job.batch,
});

const tasks = {
  name: 'jobs',
  listTasks: (query) => selectTasks(jobs.map(toTask), query),
  getTaskStats: (query) => summarizeTasks(jobs.map(toTask), query),
  getTask: (id) => jobs.map(toTask).find((task) => task.id === id) ?? null,
  getTaskTree(id) {
    const task = tasks.getTask(id);
    if (task === null) return null;
    const same = jobs.map(toTask).filter(({ groupId }) => groupId === task.groupId);
    return { rootId: id, tasks: [task, ...same.filter((other) => other.id !== id)] };
  },
};

const monitor = createMonitorRouter({ sources: { tasks }, authorize: false });
const app = express();
app.use('/monitor', monitor);
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const base = `http://127.0.0.1:${server.address().port}/monitor`;
  console.log(`\n  ${base}/api/tasks/\n  ${base}/api/tasks/1/graph/\n\nCtrl+C ends it.`);
});

// Sample data: a batch of jobs every three seconds.
let batch = 0;
function addBatch() {
  batch += 1;
  const day = new Date().toISOString().slice(0, 10);
  for (const type of ['import', 'import', 'report']) addJob(type, { day }, `batch ${batch}`);
}
addBatch();
const timer = setInterval(addBatch, 3_000);
work();

function end() {
  clearInterval(timer);
  server.close();
  server.closeAllConnections();
  monitor.close();
}
process.once('SIGINT', end);
process.once('SIGTERM', end);
