// An app's own queue, in its own terms, without any knowledge of a monitor.
import { setTimeout as sleep } from 'node:timers/promises';

const MOST_JOBS = 500;

/** Newest last. */
export const jobs = [];
let number = 0;

/** Adds a batch of jobs every few seconds, and runs one job after the other. Does not keep the process alive. */
export async function work() {
  for (let batch = 1; ; batch += 1) {
    const added = ['import', 'import', 'report'].map((type) => addJob(type, `batch ${batch}`));
    for (const job of added) {
      Object.assign(job, { status: 'running', startedAt: new Date() });
      await sleep(50 + Math.random() * 400, null, { ref: false });
      const problem = Math.random() > 0.9 ? `no data for ${job.data.day}` : null;
      Object.assign(job, { status: problem ? 'broken' : 'done', endedAt: new Date(), problem });
    }
    await sleep(2_000, null, { ref: false });
  }
}

function addJob(type, batch) {
  number += 1;
  const data = { day: new Date().toISOString().slice(0, 10) };
  const job = {
    number,
    type,
    data,
    batch,
    status: 'waiting',
    addedAt: new Date(),
    startedAt: null,
    endedAt: null,
  };
  jobs.push(job);
  if (jobs.length > MOST_JOBS) jobs.shift();
  return job;
}
