export { selectTasks } from './select/select-tasks.ts';
export { passesConditions } from './select/task-conditions.ts';
export { summarizeTasks } from './select/task-stats.ts';
