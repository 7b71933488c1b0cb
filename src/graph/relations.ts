import type { TaskRelation, TaskTree } from '../model.ts';

/** Every relation in a workflow, each once. */
export function relationsOf(tree: TaskTree): TaskRelation[] {
  return [...(tree.relations ?? [])];
}
