export { passesConditions } from './select/apply-query.ts';
export { pageFrom, selectTasks } from './select/pages.ts';
export { summarizeTasks } from './select/task-stats.ts';
