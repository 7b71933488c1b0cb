export { selectTasks } from './select/select-tasks.ts';
export { summarizeTasks } from './select/task-stats.ts';
