import type { GraphNodeBody } from '../../client.ts';

/** Whether a task never ran, and failed because another one did. */
export function isConsequence({ flags }: Pick<GraphNodeBody, 'flags'>): boolean {
  return flags.includes('consequence');
}

/** Whether a task failed or was rejected itself. A consequence of another failure is not one of its own. */
export function hasFailed(node: Pick<GraphNodeBody, 'state' | 'flags'>): boolean {
  return (node.state === 'FAILURE' || node.state === 'REJECTED') && !isConsequence(node);
}
