export { selectTasks } from './select/select-tasks.ts';
export { createStatsAccumulator, summarizeTasks } from './select/task-stats.ts';
