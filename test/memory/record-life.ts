import type { MemorySources } from '../../src/memory.ts';
import type { Task } from '../../src/model.ts';
import { T0 } from '../history/telling.ts';

/** Records what brought a task to where it is, as a host's queue would have. */
export function recordLife(sources: MemorySources, task: Task): void {
  const { id, name, queue, worker, args, kwargs, parentId, rootId, groupId, chordId, retries } = task;
  const said = { id, name, queue, args, kwargs, parentId, rootId, groupId, chordId, retries } as const;
  const by = worker === undefined ? {} : { worker };
  if (task.sent) sources.record({ ...said, state: 'PENDING', timestamp: task.sent });
  if (task.received) sources.record({ ...said, ...by, state: 'RECEIVED', timestamp: task.received });
  if (task.started) sources.record({ id, ...by, state: 'STARTED', timestamp: task.started });
  if (['PENDING', 'RECEIVED', 'STARTED'].includes(task.state)) return;
  sources.record({
    id,
    ...by,
    state: task.state,
    timestamp: task.finished ?? task.timestamp ?? T0,
    result: task.result,
    error: task.exception,
    ...(task.runtime === undefined ? {} : { runtime: task.runtime }),
  });
}
