export { pageFrom } from './select/page-from.ts';
export { selectTasks } from './select/select-tasks.ts';
export { summarizeTasks } from './select/summarize-tasks.ts';
export { passesConditions } from './select/task-conditions.ts';
