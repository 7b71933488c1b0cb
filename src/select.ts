export { selectTasks } from './select/select-tasks.ts';
export { createStatsAccumulator, type StatsAccumulator, summarizeTasks } from './select/task-stats.ts';
