const HEARTBEAT_SECONDS = 5;

/**
 * Queues and the workers that empty them, as a task library would run them. They report through `record` and
 * `recordWorker`; nothing else here depends on the monitor.
 *
 * @param {Record<string, object>} options.tasks what tasks do, by name; it may change while they run
 */
export function createWorkers({ timeline, random, tasks, record, recordWorker }) {
  const queues = new Map();
  const workers = [];
  const queueOf = (name) => queues.get(name) ?? queues.set(name, []).get(name);
  const between = ([least, most]) => (least + random() * (most - least)) * 1_000;
  const tell = (task, state, more) => record({ id: task.id, state, timestamp: timeline.now(), ...more });

  function addWorker(hostname, concurrency, queueNames) {
    const worker = { hostname, concurrency, queueNames, reserved: [], running: new Set(), processed: 0 };
    workers.push(worker);
    start(worker);
    timeline.every(HEARTBEAT_SECONDS * 1_000, () => worker.online && say(worker, 'heartbeat'));
    return worker;
  }

  function start(worker) {
    Object.assign(worker, {
      online: true,
      pid: 1_000 + Math.floor(random() * 30_000),
      since: timeline.now(),
      processed: 0,
    });
    say(worker, 'online');
    for (const name of worker.queueNames) fetchFrom(name);
    runNext(worker);
  }

  function say(worker, type) {
    recordWorker({
      hostname: worker.hostname,
      type,
      timestamp: timeline.now(),
      interval: HEARTBEAT_SECONDS,
      pid: worker.pid,
      pool: 'threads',
      poolSize: worker.concurrency,
      concurrency: worker.concurrency,
      active: worker.running.size,
      processed: worker.processed,
      queues: worker.queueNames,
      registeredTasks: Object.keys(tasks).filter((name) => worker.queueNames.includes(tasks[name].queue)),
      software: 'shop 1.4.2',
      loadAverage: [0.2, 0.3, 0.3].map(
        (load) => Math.round((load + worker.running.size * random() * 0.4) * 100) / 100,
      ),
      uptimeSeconds: Math.round((timeline.now() - worker.since) / 1_000),
    });
  }

  /** Puts a task into its queue; `done` is called with its final state and, if it ended well, its run time in seconds. */
  function send(task, done = () => {}) {
    const { queue } = tasks[task.name];
    const { name, args = [], kwargs = {}, eta = null, parentId, rootId, groupId, chordId } = task;
    tell(task, 'PENDING', {
      name,
      queue,
      args,
      kwargs,
      eta,
      parentId,
      rootId: rootId ?? task.id,
      groupId,
      chordId,
      retries: 0,
    });
    queueOf(queue).push({ ...task, queue, done, retries: 0, dueAt: timeline.now() });
    timeline.after(2 + random() * 8, () => fetchFrom(queue));
    return task.id;
  }

  /** Workers take twice as many tasks as they can run, as Celery's do by their prefetch multiplier. */
  function fetchFrom(queue) {
    const waiting = queueOf(queue);
    for (const worker of workers) {
      if (!worker.online || !worker.queueNames.includes(queue)) continue;
      while (waiting.length > 0 && worker.running.size + worker.reserved.length < worker.concurrency * 2) {
        const task = waiting.shift();
        tell(task, 'RECEIVED', { worker: worker.hostname, retries: task.retries });
        if (task.eta > timeline.now()) timeline.after(task.eta - timeline.now(), () => reserve(worker, task));
        else reserve(worker, task);
      }
    }
  }

  function reserve(worker, task) {
    worker.reserved.push(task);
    runNext(worker);
  }

  function runNext(worker) {
    if (!worker.online) return;
    while (worker.reserved.length > 0 && worker.running.size < worker.concurrency) {
      run(worker, worker.reserved.shift());
    }
    for (const name of worker.queueNames) if (queueOf(name).length > 0) fetchFrom(name);
  }

  function run(worker, task) {
    const { seconds, progress } = tasks[task.name];
    const took = between(seconds);
    const { pid } = worker;
    // A worker that was killed meanwhile reports nothing more.
    const alive = () => worker.online && worker.pid === pid;
    worker.running.add(task);
    tell(task, 'STARTED', { worker: worker.hostname, retries: task.retries });
    if (progress) {
      for (const percent of [25, 50, 75]) {
        timeline.after((took * percent) / 100, () => {
          if (alive()) tell(task, 'PROGRESS', { worker: worker.hostname, progress: percent });
        });
      }
    }
    timeline.after(took, () => {
      if (!alive()) return;
      worker.running.delete(task);
      worker.processed += 1;
      end(worker, task, took / 1_000);
      runNext(worker);
    });
  }

  function end(worker, task, runtime) {
    const { retries = 0, retryError, fails = 0, error, rejects = 0 } = tasks[task.name];
    const about = { worker: worker.hostname, retries: task.retries };
    const dice = random();
    if (dice < retries && task.retries < 3) {
      tell(task, 'RETRY', { ...about, error: failure(task.name, retryError) });
      task.retries += 1;
      timeline.after(2_000 * 2 ** task.retries, () => {
        task.dueAt = timeline.now();
        queueOf(task.queue).push(task);
        fetchFrom(task.queue);
      });
      return;
    }
    if (dice > 1 - fails) {
      tell(task, 'FAILURE', { ...about, error: failure(task.name, error) });
      task.done('FAILURE');
    } else if (dice > 1 - fails - rejects) {
      tell(task, 'REJECTED', { ...about, detail: 'the printer does not know this format' });
      task.done('REJECTED');
    } else {
      tell(task, 'SUCCESS', { ...about, runtime, result: task.result ?? null });
      task.done('SUCCESS', runtime);
    }
  }

  /** A worker disappears without a message; its tasks are delivered again when it is back. */
  function crash(worker, awayMs) {
    const lost = [...worker.running, ...worker.reserved];
    worker.online = false;
    worker.running.clear();
    worker.reserved = [];
    timeline.after(awayMs, () => {
      for (const task of lost) queueOf(task.queue).unshift({ ...task, dueAt: timeline.now() });
      start(worker);
    });
  }

  /** A worker says goodbye, between two tasks or within them, and comes back. */
  function restart(worker, awayMs) {
    say(worker, 'offline');
    crash(worker, awayMs);
  }

  /** Takes a task back that no worker has taken yet. */
  function revoke(queue) {
    const task = queueOf(queue).pop();
    if (task === undefined) return;
    tell(task, 'REVOKED', { detail: 'taken back by an operator' });
    task.done('REVOKED');
  }

  return {
    addWorker,
    send,
    crash,
    restart,
    revoke,
    /** For the monitor: how many tasks wait in each queue. */
    listQueues: () =>
      [...queues].map(([name, waiting]) => ({
        name,
        waiting: waiting.length,
        reserved: sum(
          workers,
          (worker) => [...worker.reserved, ...worker.running].filter((task) => task.queue === name).length,
        ),
        consumers: sum(workers, (worker) => Number(worker.online && worker.queueNames.includes(name))),
        oldestDueAt: waiting.length === 0 ? null : new Date(Math.min(...waiting.map(({ dueAt }) => dueAt))),
        asOf: new Date(),
      })),
  };
}

function sum(items, figure) {
  return items.reduce((total, item) => total + figure(item), 0);
}

/** The error that a task would throw, with the stack of its own code. */
function failure(taskName, text) {
  const [name, message] = text.split(/: (.*)/);
  const [module, method] = taskName.split('.');
  const stack = `${text}\n    at ${method} (shop/${module}.js:42:11)\n    at runTask (shop/worker.js:118:20)`;
  return Object.assign(new Error(message), { name, stack });
}
