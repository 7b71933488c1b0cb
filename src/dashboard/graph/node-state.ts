import type { GraphNodeBody, StateCountsBody } from '../../wire.ts';
import { count } from '../text/numbers.ts';

/** Whether a task never ran, and failed because another one did. */
export function isConsequence({ flags }: Pick<GraphNodeBody, 'flags'>): boolean {
  return flags.includes('consequence');
}

/** Whether a task failed or was rejected itself. A consequence of another failure is not one of its own. */
export function hasFailed(node: Pick<GraphNodeBody, 'state' | 'flags'>): boolean {
  return (node.state === 'FAILURE' || node.state === 'REJECTED') && !isConsequence(node);
}

/** How tasks are drawn: their colour, and their state in words. */
export interface Look {
  readonly tone: string;
  readonly line: string;
}

/** The tone of a group, and the outcome of its members in words. */
export function lookOfMembers(
  counts: Pick<StateCountsBody, 'total' | 'success' | 'failure' | 'running' | 'retry'>,
): Look {
  const { total, success, failure, running, retry } = counts;
  const isDone = success === total && total > 0;
  const others = running + retry > 0 ? 'running' : isDone ? 'success' : 'waiting';
  return {
    tone: failure > 0 ? 'failure' : others,
    line: `${count(success)} of ${count(total)} done${failure > 0 ? `, ${count(failure)} failed` : ''}`,
  };
}
