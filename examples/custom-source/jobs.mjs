// An app's own queue, in its own terms, without any knowledge of a monitor.
const MOST_JOBS = 500;

/** Newest last. */
export const jobs = [];
let number = 0;

export function addJob(type, data, batch = null) {
  number += 1;
  const times = { addedAt: new Date(), startedAt: null, endedAt: null };
  jobs.push({ number, type, data, batch, status: 'waiting', ...times, output: null, problem: null });
  if (jobs.length > MOST_JOBS) jobs.shift();
  return number;
}

/** Runs one job after the other. */
export async function work() {
  for (;;) {
    const job = jobs.find(({ status }) => status === 'waiting');
    if (job === undefined) {
      await sleep(50);
      continue;
    }
    Object.assign(job, { status: 'running', startedAt: new Date() });
    await sleep(50 + Math.random() * 400);
    const good = Math.random() > 0.1;
    job.endedAt = new Date();
    job.status = good ? 'done' : 'broken';
    if (good) job.output = { rows: Math.ceil(Math.random() * 100) };
    else job.problem = `no data for ${job.data.day}`;
  }
}

// Nothing here keeps the process alive.
function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
