// Runs the published contract suite over the memory source. Prints how many cases passed.
import { memorySources } from 'express-task-monitor/memory';
import { sourceContract } from 'express-task-monitor/testing';

function create() {
  const sources = memorySources();
  return {
    sources,
    seed(tasks) {
      for (const task of tasks) {
        const { id, state, name, queue, worker, args, kwargs, rootId, parentId, groupId, timestamp } = task;
        sources.record({
          id,
          state,
          name,
          queue,
          worker,
          args,
          kwargs,
          rootId,
          parentId,
          groupId,
          timestamp,
        });
      }
    },
  };
}

const parts = ['tasks', 'tasks.tree', 'tasks.stats', 'workers', 'events', 'health', 'components', 'history'];
const whole = memorySources();
const cases = sourceContract({ parts: parts.filter((part) => whole[part.split('.')[0]]), create });
for (const { name, run } of cases) {
  try {
    await run();
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}
console.log(`${cases.length} cases`);
